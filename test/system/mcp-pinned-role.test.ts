import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { startSystem } from "@patchbay/test-support/system";

test("over MCP, a handler gets the only role of a pinned key, and a header with another role is 403", async () => {
  const roles: unknown[] = [];
  const who = defineFunction({
    name: "who",
    description: "Notes who asks.",
    input: z.object({}),
    roles: "everyone",
    handler: (_input, { role }) => void roles.push(role),
  });
  const known = { roles: { clerk: {}, senior: { includes: ["clerk"] }, manager: {} } };
  await using system = await startSystem({ service: defineService({ name: "desk", ...known, functions: [who] }) });
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["senior"] });
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who", arguments: {} } };
  const called = async (headers: Record<string, string>) => {
    const accept = { "x-api-key": apiKey, accept: "application/json, text/event-stream" };
    return (await system.post(`/agents/${system.agentId}/mcp`, call, { ...accept, ...headers })).status;
  };

  expect(await called({})).toBe(200);
  expect(await called({ "x-patchbay-role": "senior" })).toBe(200);
  expect(await called({ "x-patchbay-role": "clerk" })).toBe(200);
  for (const role of ["manager", "Senior", "unassigned"]) expect(await called({ "x-patchbay-role": role })).toBe(403);
  expect(roles).toEqual(["senior", "senior", "clerk"]);
});

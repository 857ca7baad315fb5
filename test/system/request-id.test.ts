import { defineFunction, defineService } from "@patchbay/functions";
import { type LogFields, logTo } from "@patchbay/kit";
import { expect, test } from "vitest";
import { z } from "zod";
import { until } from "@patchbay/test-support/inbox";
import { callsOnce } from "../support/call-models.ts";
import { signIn } from "../support/console.ts";
import { startSystem } from "@patchbay/test-support/system";
import { createTracedService } from "../support/traced-service.ts";

const ABC = { "x-request-id": "abc" };

test("a request is found by its id in the log, an error body, the list of runs and the console", async () => {
  const lines: LogFields[] = [];
  const log = logTo((_level, message, fields) => lines.push({ message, ...fields }));
  await using system = await startSystem({ service: createTracedService().service, model: callsOnce("look_up"), log });
  const { agentId, orgId, plane } = system;

  const { runId } = await system.query("Look it up", { role: "clerk" }, ABC);
  const refused = await system.post(`/agents/${agentId}/query`, { query: 1 }, ABC);

  expect(await refused.json()).toMatchObject({ code: "invalid_request", requestId: "abc" });
  expect((await plane.admin.runsOfRequest("abc")).items).toMatchObject([{ runId, agentId, requestId: "abc" }]);
  expect(await (await system.get(`/agents/${agentId}/runs/${runId}`)).json()).toMatchObject({ requestId: "abc" });
  const ask = await signIn(plane, orgId);
  expect(await (await ask("/search?q=abc")).json()).toMatchObject({ found: [{ kind: "run", id: runId, agentId }] });
  const found = () => lines.filter(({ requestId }) => requestId === "abc");
  await until(() => found().length === 3, "the three lines of the requests and the run");
  expect(found()).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ message: "run ended", runId, agentId }),
      expect.objectContaining({ message: "request", status: 200, runId }),
      expect.objectContaining({ message: "request", status: 400, code: "invalid_request" }),
    ]),
  );
});

test("the line of a request names its run, and the role that the service gave it", async () => {
  const lines: LogFields[] = [];
  const log = logTo((_level, message, fields) => lines.push({ message, ...fields }));
  const service = defineService({
    name: "desk",
    roles: ["guest"],
    defaultRole: "guest",
    functions: [
      defineFunction({
        name: "look_up",
        description: "Looks it up.",
        input: z.object({}),
        roles: ["guest"],
        handler: () => 1,
      }),
    ],
  });
  await using system = await startSystem({ service, model: callsOnce("look_up"), log });
  const { agentId } = system;
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "look_up", arguments: {} } };

  await system.query("Look it up", {}, { "x-request-id": "asked" });
  await system.stream("Look it up", {}, { "x-request-id": "streamed" });
  const accept = "application/json, text/event-stream";
  const called = await system.post(`/agents/${agentId}/mcp`, call, { accept, "x-request-id": "called" });
  expect(await called.text()).toContain('"result"');

  for (const id of ["asked", "streamed", "called"]) {
    const of = (wanted: string) => lines.find(({ message, requestId }) => message === wanted && requestId === id);
    await until(() => of("request") !== undefined, `the line of ${id}`);
    const { runId } = of("run ended")!;
    expect(of("request")).toMatchObject({ requestId: id, agentId, runId, role: "guest", status: 200 });
  }
});

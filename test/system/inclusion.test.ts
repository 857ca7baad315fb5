import { defineFunction, defineService, everyone, type RoleDefinitions } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { startIssuer } from "@patchbay/test-support/issuer";
import { mcpClient } from "@patchbay/test-support/mcp-client";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const ROLES: RoleDefinitions = {
  guest: {},
  support: {},
  manager: { includes: ["support"] },
  director: { includes: ["manager"] },
};
const NAMES = Object.keys(ROLES);

const input = z.object({});
const who = defineFunction({
  name: "who",
  description: "Says who asks.",
  input,
  roles: everyone,
  handler: (_input, { role }) => ({ role: role ?? null }),
});
const look = defineFunction({
  name: "look",
  description: "Looks up a customer.",
  input,
  roles: ["support"],
  handler: () => "found",
});
const refund = defineFunction({
  name: "refund",
  description: "Refunds an order.",
  input,
  roles: ["support"],
  approval: { by: ["manager"], fourEyes: false },
  handler: () => "refunded",
});
const desk = defineService({ name: "desk", roles: ROLES, defaultRole: "support", functions: [who, look, refund] });

/** A system that trusts an issuer, with a model that calls the named functions. */
async function start(calls: string[] = ["who", "look"]) {
  const issuer = await startIssuer();
  const standIn = await startStandIn("anthropic", callThenAnswer(calls.map((name) => ({ name }))));
  const system = await startSystem({
    providers: standIn.config,
    callers: { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" },
  });
  const { agentId, plane } = system;
  const connection = await system.connect(desk);
  const path = `/agents/${agentId}`;
  type Headers = Record<string, string>;
  const ask = async (body: object, headers: Headers = {}) => {
    const response = await system.post(`${path}/query`, { query: "hi", ...body }, headers);
    const answer = (await response.json()) as Record<string, unknown>;
    const [asker, looked] = (answer["toolInteractions"] ?? []) as { success: boolean; result?: { role: string } }[];
    return { status: response.status, ...answer, role: asker?.result?.role, looked: looked?.success };
  };
  return {
    ...system,
    connection,
    path,
    ask,
    keyOf: async (...roles: string[]) => {
      const { apiKey } = await plane.admin.createKey({ agentId, roles, can: ["approve", "check"] });
      return { "x-api-key": apiKey };
    },
    caller: async (role: string | string[]) => ({ "x-patchbay-caller": await issuer.token({ role }) }),
    status: async (where: string, headers: Headers) => (await system.get(`${path}${where}`, headers)).status,
    shown: () => JSON.stringify(standIn.requests.at(-1)!.body),
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}
type System = Awaited<ReturnType<typeof start>>;

/** What a key that is pinned to `role` may do at each place, with what belongs to `support`. */
const PLACES: Record<string, (system: System, role: string) => Promise<boolean>> = {
  "calls a function of support": async ({ ask, keyOf }, role) =>
    (await ask({ role }, await keyOf(role))).looked === true,
  "sends its model the functions of support": async ({ ask, keyOf, shown }, role) => {
    await ask({ role }, await keyOf(role));
    return shown().includes("Looks up a customer.");
  },
  "states the role support": async ({ ask, keyOf }, role) =>
    (await ask({ role: "support" }, await keyOf(role))).status === 200,
  "gets the default role support": async ({ ask, keyOf }, role) =>
    (await ask({}, await keyOf(role))).role === "support",
  "reads a run of support": async ({ ask, keyOf, status }, role) => {
    const { runId } = (await ask({ role: "support" })) as unknown as { runId: string };
    return (await status(`/runs/${runId}`, await keyOf(role))) === 200;
  },
  "lists the threads of support": async ({ ask, get, path, keyOf }, role) => {
    const { threadId } = (await ask({ role: "support" })) as unknown as { threadId: string };
    return (await (await get(`${path}/threads`, await keyOf(role))).text()).includes(threadId);
  },
  "lists the runs of support": async ({ ask, get, path, keyOf }, role) => {
    const { runId } = (await ask({ role: "support" })) as unknown as { runId: string };
    return (await (await get(`${path}/runs`, await keyOf(role))).text()).includes(runId);
  },
  "erases a thread of support": async ({ ask, url, path, keyOf }, role) => {
    const { threadId } = (await ask({ role: "support" })) as unknown as { threadId: string };
    const options = { method: "DELETE", headers: await keyOf(role) };
    return (await fetch(`${url}${path}/threads/${threadId}`, options)).status === 204;
  },
  "makes a client token for support": async ({ post, path, keyOf }, role) => {
    const body = { role: "support", expiresInSeconds: 60 };
    return (await post(`${path}/client-tokens`, body, await keyOf(role))).status === 201;
  },
  "lists the functions of support": async ({ get, path, keyOf }, role) =>
    (await (await get(`${path}/functions?role=support`, await keyOf(role))).text()).includes("look"),
  "checks a call of support": async ({ post, path, keyOf }, role) => {
    const body = { role: "support", toolName: "look", parameters: {} };
    return (
      ((await (await post(`${path}/check`, body, await keyOf(role))).json()) as { allowed?: true }).allowed === true
    );
  },
  "has support in the list of models": async ({ get, path, keyOf, agentId }, role) =>
    (await (await get(`${path}/v1/models`, await keyOf(role))).text()).includes(`"${agentId}:support"`),
  "asks the model of support": async ({ post, path, keyOf, agentId }, role) => {
    const body = { model: `${agentId}:support`, messages: [{ role: "user", content: "hi" }] };
    return (await post(`${path}/v1/chat/completions`, body, await keyOf(role))).status === 200;
  },
  "has the tools of support in MCP": async ({ url, agentId, keyOf }, role) => {
    const { "x-api-key": apiKey } = await keyOf(role);
    const connected = mcpClient({ url, agentId, apiKey }, { headers: { "x-patchbay-role": "support" } });
    await using client = await connected.catch(() => undefined);
    return (await client?.listTools())?.tools.some(({ name }) => name === "look") === true;
  },
  "asks as a proven caller with this role": async ({ ask, caller }, role) =>
    (await ask({ role: "support" }, await caller(role))).role === "support",
  "lets a proven caller with this role ask through a key of support": async ({ ask, keyOf, caller }, role) =>
    (await ask({}, { ...(await keyOf("support")), ...(await caller(role)) })).role === "support",
};

describe("a key with a role that includes support", () => {
  test.for(Object.entries(PLACES))("%s, and one of guest does not", async ([, may]) => {
    await using system = await start();
    const found: Record<string, boolean> = {};
    for (const role of NAMES) found[role] = await may(system, role);
    expect(found).toEqual({ guest: false, support: true, manager: true, director: true });
  });
});

test("a role that includes an approver's decides, also by a key that names no role, and an included role does not", async () => {
  await using system = await start(["refund"]);
  const { ask, post, path, keyOf } = system;
  const { approvals } = (await ask({ role: "support" })) as unknown as { approvals: { approvalId: string }[] };
  const decision = `${path}/approvals/${approvals[0]!.approvalId}/decision`;

  expect((await post(decision, { approved: true }, await keyOf("support"))).status).toBe(403);
  const decided = await post(decision, { approved: true }, await keyOf("director"));

  expect([decided.status, await decided.json()]).toMatchObject([200, { status: "approved" }]);
});

test("a run under an included role continues after its approval", async () => {
  await using system = await start(["refund"]);
  const { ask, post, get, path, keyOf } = system;
  const asked = await ask({ role: "support" }, await keyOf("manager"));
  const { runId, approvals } = asked as unknown as { runId: string; approvals: { approvalId: string }[] };

  await post(`${path}/approvals/${approvals[0]!.approvalId}/decision`, { approved: true }, await keyOf("director"));

  const status = async () => ((await (await get(`${path}/runs/${runId}`)).json()) as { status: string }).status;
  await expect.poll(status).toBe("succeeded");
});

test("of several proven roles, a caller has the one that includes the others, or must choose", async () => {
  await using system = await start();
  const { ask, caller, post, path, agentId, url, apiKey } = system;
  const chosen = { "x-patchbay-role": "support" };

  expect(await ask({}, await caller(["support", "director", "manager"]))).toMatchObject({ role: "director" });
  expect(await ask({}, { ...(await caller(["support", "manager"])), ...chosen })).toMatchObject({ role: "support" });
  expect(await ask({ role: "director" }, await caller(["support", "manager"]))).toMatchObject({ status: 403 });

  const torn = await caller(["guest", "support", "manager"]);
  const details = [
    {
      path: "X-Patchbay-Role",
      message: "is required: the caller has the roles guest, manager; name one of them",
    },
  ];
  expect(await ask({}, torn)).toMatchObject({ status: 400, code: "invalid_request", details });
  for (const role of ["guest", "manager", "support"]) {
    expect(await ask({ role }, torn)).toMatchObject({ role });
    expect(await ask({}, { ...torn, "x-patchbay-role": role })).toMatchObject({ role });
  }
  const chat = { model: agentId, messages: [{ role: "user", content: "hi" }] };
  expect((await post(`${path}/v1/chat/completions`, chat, torn)).status).toBe(400);
  const message = { id: "m", role: "user", parts: [{ type: "text", text: "hi" }] };
  expect((await post(`${path}/ui-stream`, { id: "c", messages: [message] }, torn)).status).toBe(400);
  await using client = await mcpClient({ url, agentId, apiKey }, { headers: torn });
  await expect(client.listTools()).rejects.toThrow(
    "X-Patchbay-Role: is required: the caller has the roles guest, manager",
  );
});

test("without a runtime, a role stays stated and its runs stay visible", async () => {
  await using system = await start();
  const { ask, keyOf, connection, status } = system;
  const { runId } = (await ask({ role: "support" })) as unknown as { runId: string };

  await connection.stop({ drainMs: 0 });

  const manager = await keyOf("manager");
  expect(await status(`/runs/${runId}`, manager)).toBe(200);
  expect(await status(`/runs/${runId}`, await keyOf("guest"))).toBe(404);
});

test("a service that knows a role without the inclusion keeps the role from keys of the role that another includes it in", async () => {
  await using system = await start();
  const { ask, keyOf, connect } = system;
  const manager = await keyOf("manager");
  const about = { name: "file", description: "Files a document.", input, roles: ["support"] };
  const file = defineFunction({ ...about, handler: () => "filed" });
  const other = defineService({ name: "files", functions: [file] });

  const added = await connect(other);

  expect(await ask({ role: "support" }, manager)).toMatchObject({ status: 403 });
  expect(await ask({ role: "manager" }, manager)).toMatchObject({ role: "manager", looked: true });
  await added.stop({ drainMs: 0 });
  await connect(defineService({ name: "files", roles: ROLES, functions: [file] }));
  expect(await ask({ role: "support" }, manager)).toMatchObject({ role: "support" });
});

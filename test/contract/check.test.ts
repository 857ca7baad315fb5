import { createClient } from "@patchbay/client";
import { defineService, everyone, functionsFor } from "@patchbay/functions";
import type { ControlPlaneFrame } from "@patchbay/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { helloFrom, joinGateway } from "@patchbay/test-support/fake-runtime";
import { scriptFor } from "@patchbay/test-support/providers";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";

const handled: string[] = [];
const ran = (name: string) => () => {
  handled.push(name);
  return "ran";
};
const context = z.object({ customerId: z.string().optional() });
const { defineFunction } = functionsFor(context);

const service = defineService({
  name: "desk",
  context,
  functions: [
    defineFunction({
      name: "look_up",
      title: "Look up",
      description: "Looks up an order.",
      input: z.object({ id: z.string() }),
      effect: "read",
      roles: everyone,
      handler: ran("look_up"),
    }),
    defineFunction({
      name: "cancel_order",
      description: "Cancels an order.",
      input: z.object({ customerId: z.string() }),
      roles: ["customer", "support"],
      authorize: ({ role, input, context: { customerId } }) =>
        role === "support" || (customerId !== undefined && input.customerId === customerId),
      handler: ran("cancel_order"),
    }),
    defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input: z.object({ amount: z.number() }),
      roles: ["support"],
      approval: { by: ["manager"], when: ({ input }) => input.amount > 100 },
      handler: ran("refund"),
    }),
    defineFunction({
      name: "wipe_all",
      description: "Wipes everything.",
      input: z.object({}),
      roles: ["manager"],
      effect: "destructive",
      handler: ran("wipe_all"),
    }),
  ],
});

let system: ContractSystem;
let keys: Record<"checker" | "pinned" | "approver", string>;

beforeAll(async () => {
  system = await startContractSystem(scriptFor({ text: "Hello." }), { service });
  const { agentId } = system;
  const create = async (more: object) => (await system.plane.admin.createKey({ agentId, ...more })).apiKey;
  keys = {
    checker: await create({ can: ["check"] }),
    pinned: await create({ can: ["check"], roles: ["customer"] }),
    approver: await create({ can: ["approve"] }),
  };
});

afterAll(() => system?.[Symbol.asyncDispose]());

async function send(path: string, key: string, body?: object) {
  const headers = { "content-type": "application/json", "x-api-key": key };
  const init = body ? { method: "POST", body: JSON.stringify(body) } : {};
  const response = await fetch(`${system.url}/agents/${system.agentId}/${path}`, { headers, ...init });
  const { requestId: _, ...answer } = (await response.json()) as Record<string, unknown>;
  return { status: response.status, answer };
}
const check = (body: object, key = keys.checker) => send("check", key, body);
const functions = (search = "", key = keys.checker) => send(`functions${search}`, key);
const own = { contextJson: JSON.stringify({ customerId: "ada" }) };
const cancelOf = (customerId: string) => ({ toolName: "cancel_order", parameters: { customerId } });
const namesIn = ({ answer }: Awaited<ReturnType<typeof functions>>) =>
  (answer["items"] as { name: string }[]).map(({ name }) => name);

/** A system whose runtime is written by hand. `more`: in its answer to every question. */
async function byHand(more: object) {
  const alone = await startContractSystem(scriptFor({ text: "" }), { connected: false });
  const { agentId, runtimeKey, plane } = alone;
  const { apiKey } = await plane.admin.createKey({ agentId, can: ["check"] });
  const hello = helloFrom("by-hand", ["echo", "secret"]);
  hello.manifest.functions[1]!.roles = ["boss"];
  const runtime = await joinGateway(plane.port, hello, { Authorization: `Bearer ${runtimeKey}` });
  const asked: string[] = [];
  runtime.socket.on("message", (data) => {
    const frame = JSON.parse((data as Buffer).toString()) as ControlPlaneFrame;
    if (frame.type !== "prepare") return;
    if (frame.call) asked.push(frame.call.function);
    runtime.send({ type: "prepared", id: frame.id, prepared: { ok: true, ...more } });
  });
  return {
    asked,
    async check(toolName: string) {
      const body = { toolName, parameters: {} };
      return (await alone.post(`/agents/${agentId}/check`, body, { "x-api-key": apiKey })).json();
    },
    async [Symbol.asyncDispose]() {
      runtime.socket.terminate();
      await alone[Symbol.asyncDispose]();
    },
  };
}

test("the client lists a role's functions and checks calls", async () => {
  const { url: baseUrl, agentId } = system;
  const client = createClient({ baseUrl, agentId, apiKey: keys.checker });

  const { items } = await client.listFunctions({ role: "customer" });
  expect(items.map(({ name }) => name)).toEqual(["look_up", "cancel_order"]);
  expect(await client.checkCall({ role: "customer", ...own, ...cancelOf("ada") })).toEqual({
    allowed: true,
    verdict: "allowed",
  });
  expect(await client.checkCall({ role: "customer", ...own, ...cancelOf("eve") })).toMatchObject({ rule: "authorize" });
});

describe("POST /agents/{agent_id}/check", () => {
  const denied = (rule: string) => ({ allowed: false, verdict: "denied", rule });
  const allowed = { allowed: true, verdict: "allowed" };

  test.each([
    ["a function open to everyone", { toolName: "look_up", parameters: { id: "1" } }, allowed],
    ["the own order of the context", { role: "customer", ...own, ...cancelOf("ada") }, allowed],
    ["another order than the context's", { role: "customer", ...own, ...cancelOf("eve") }, denied("authorize")],
    ["an order without a context", { role: "customer", ...cancelOf("ada") }, denied("authorize")],
    ["invalid arguments", { toolName: "look_up", parameters: {} }, denied("input")],
    ["a call below the approval limit", { role: "support", toolName: "refund", parameters: { amount: 1 } }, allowed],
    [
      "a call above the approval limit",
      { role: "support", toolName: "refund", parameters: { amount: 300 } },
      { allowed: false, verdict: "approval" },
    ],
    ["a function of another role", { role: "support", toolName: "wipe_all", parameters: {} }, denied("unknown")],
    ["a function that does not exist", { role: "support", toolName: "wipe_xyz", parameters: {} }, denied("unknown")],
    ["a role that no function names", { role: "guest", toolName: "refund", parameters: {} }, denied("unknown")],
  ])("decides as a query's call would be decided: %s", async (_what, body, expected) => {
    expect(await check(body)).toEqual({ status: 200, answer: expected });
    expect(handled).toEqual([]);
  });

  test("answers 400 with the path for a context that the service's schema refuses", async () => {
    const { status, answer } = await check({ contextJson: '{"customerId":1}', toolName: "look_up", parameters: {} });

    expect(status).toBe(400);
    expect(answer).toMatchObject({ code: "invalid_request", details: [{ path: "contextJson.customerId" }] });
  });

  test.each([
    ["toolName", { parameters: {} }],
    ["parameters", { toolName: "look_up" }],
    ["parameters", { toolName: "look_up", parameters: [] }],
    ["parameters", { toolName: "look_up", parameters: { id: "x".repeat(65_536) } }],
    ["contextJson", { toolName: "look_up", parameters: {}, contextJson: "[]" }],
    ["role", { toolName: "look_up", parameters: {}, role: "r".repeat(201) }],
  ])("answers 400 with the path %s", async (path, body) => {
    const { status, answer } = await check(body);

    expect(status).toBe(400);
    expect(answer).toMatchObject({ details: [{ path }] });
  });

  test("answers 'Agent session not found' inside the response when no runtime is connected", async () => {
    await using alone = await startContractSystem(scriptFor({ text: "" }), { connected: false });
    const { apiKey } = await alone.plane.admin.createKey({ agentId: alone.agentId, can: ["check"] });
    const headers = { "x-api-key": apiKey };
    const missing = { success: false, errorMessage: "Agent session not found", code: "agent_session_not_found" };

    const decided = await alone.post(`/agents/${alone.agentId}/check`, { toolName: "x", parameters: {} }, headers);
    const listed = await alone.get(`/agents/${alone.agentId}/functions`, headers);

    expect([decided.status, await decided.json()]).toEqual([200, missing]);
    expect([listed.status, await listed.json()]).toEqual([200, missing]);
  });

  test("answers 409 with what to do when the runtime's version cannot check", async () => {
    await using alone = await byHand({});

    expect(await alone.check("echo")).toMatchObject({
      success: false,
      code: "conflict",
      errorMessage: expect.stringMatching(/earlier version, which cannot check calls\. Update/) as string,
    });
  });

  test("asks no runtime about a hidden function", async () => {
    await using alone = await byHand({ judgement: { decision: "allowed" } });

    expect(await alone.check("echo")).toEqual(allowed);
    expect(await alone.check("secret")).toEqual(denied("unknown"));
    expect(alone.asked).toEqual(["echo"]);
  });

  test.each(["roles", "unknown"])("hides the rule %s of a runtime with a newer function set", async (rule) => {
    await using alone = await byHand({ judgement: { decision: "denied", rule } });

    expect(await alone.check("echo")).toEqual(denied("unknown"));
  });

  test("answers 503 when the checks took too long", async () => {
    await using alone = await byHand({ judgement: {} });

    expect(await alone.check("echo")).toMatchObject({ success: false, code: "unavailable" });
  });
});

describe("GET /agents/{agent_id}/functions", () => {
  test("lists what exists for the role, with its schema and its approval", async () => {
    const listed = await functions("?role=support");

    expect(listed).toMatchObject({ status: 200, answer: { role: "support" } });
    expect(namesIn(listed)).toEqual(["look_up", "cancel_order", "refund"]);
    const [lookUp, , refund] = listed.answer["items"] as Record<string, unknown>[];
    expect(lookUp).toMatchObject({ title: "Look up", effect: "read", inputSchema: { required: ["id"] } });
    expect(refund).toMatchObject({ approval: { by: ["manager"], conditional: true } });
  });

  test("lists what is open to everyone without a role, and for one that no function names", async () => {
    expect(namesIn(await functions())).toEqual(["look_up"]);
    expect(namesIn(await functions("?role=guest"))).toEqual(["look_up"]);
  });
});

describe("keys", () => {
  const body = { toolName: "look_up", parameters: { id: "1" } };

  test.each(["approver", "own"] as const)("without the right are refused: %s", async (name) => {
    const key = name === "own" ? system.apiKey : keys[name];
    const refusal = { status: 403, answer: { code: "role_not_allowed" } };

    expect(await check(body, key)).toMatchObject(refusal);
    expect(await functions("", key)).toMatchObject(refusal);
  });

  test("without a valid secret are refused before the body is read", async () => {
    expect(await check({}, "service_live_unknown")).toMatchObject({ status: 401 });
  });

  test("with the right to check may not decide on approvals", async () => {
    expect(await send("approvals", keys.checker)).toMatchObject({ status: 403 });
  });

  test("that are pinned may not ask for another role", async () => {
    const refusal = { status: 403, answer: { code: "role_not_allowed" } };

    expect(await check({ ...body, role: "support" }, keys.pinned)).toMatchObject(refusal);
    expect(await functions("?role=support", keys.pinned)).toMatchObject(refusal);
  });

  test("that are pinned see the same for a hidden and an unknown function", async () => {
    const answers = await Promise.all(
      ["wipe_all", "refund", "wipe_xyz"].map((toolName) =>
        check({ role: "customer", toolName, parameters: { amount: 1 } }, keys.pinned),
      ),
    );

    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(namesIn(await functions("?role=customer", keys.pinned))).toEqual(["look_up", "cancel_order"]);
  });
});

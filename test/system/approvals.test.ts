import { connect, defineFunction, defineService, RetryableError, silentLog } from "@patchbay/functions";
import type { Approval, ApprovalPage, QueryResponse } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { readAlong } from "@patchbay/test-support/reader";
import { REPLICAS } from "../support/replicas.ts";
import { parseSse } from "@patchbay/test-support/sse";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

/** A desk whose refunds above 100 need a manager, and whose hand-overs need the clerk who asked. */
function createDesk() {
  const ran: unknown[] = [];
  const input = z.object({ id: z.string(), amount: z.number().default(0) });
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input,
    roles: ["clerk"],
    approval: {
      by: ["manager"],
      when: ({ input: { amount } }) => amount > 100 && "Above 100.",
      edit: ["amount"],
    },
    handler(given, { approval }) {
      ran.push({ ...given, by: approval?.decidedAs });
      return { refunded: true };
    },
  });
  const handOver = defineFunction({
    name: "hand_over",
    description: "Hands an order over.",
    input,
    roles: ["clerk"],
    approval: { by: ["caller"] },
    handler: (given) => void ran.push(given),
  });
  return { service: defineService({ name: "desk", roles: ["clerk", "manager"], functions: [refund, handOver] }), ran };
}

async function startDesk(
  call: { name: string; arguments: object } = { name: "refund", arguments: { id: "o1", amount: 200 } },
) {
  const desk = createDesk();
  const standIn = await startStandIn(
    "anthropic",
    callThenAnswer([call as never], () => "Done."),
  );
  const system = await startSystem({ service: desk.service, providers: standIn.config });
  const path = `/agents/${system.agentId}/approvals`;
  const keyOf = async (more: object = {}) => {
    const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"], ...more });
    return { "x-api-key": apiKey };
  };
  const approver = await keyOf();
  return {
    ...system,
    ...desk,
    keyOf,
    approver,
    ask: () => system.query("Refund o1", { role: "clerk" }),
    list: async (search = "", headers = approver) =>
      (await (await system.get(`${path}${search}`, headers)).json()) as ApprovalPage,
    read: (id: string, headers = approver) => system.get(`${path}/${id}`, headers),
    decide: (id: string, body: unknown, headers: Record<string, string> = approver) =>
      system.post(`${path}/${id}/decision`, body, headers),
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn.close();
    },
  };
}

const codeOf = async (response: Response) => {
  const { code, status } = (await response.json()) as { code?: string; status?: string };
  return [response.status, code, status].filter((part) => part !== undefined);
};

test("endpoint 1 answers when the run begins to wait, and with Prefer waits for its end", async () => {
  await using desk = await startDesk();
  const waits = await desk.ask();

  expect(waits).toMatchObject({
    success: false,
    code: "approval_required",
    errorMessage: "Waiting for approval",
    response: "",
    toolInteractions: [{ toolName: "refund", success: false, code: "approval_required" }],
  });
  const { approvals: [asked] = [], runId } = waits;
  expect(asked).toEqual({
    approvalId: expect.stringMatching(/^apr_/),
    toolName: "refund",
    parameters: { id: "o1", amount: 200 },
    reason: "Above 100.",
    by: ["manager"],
    expiresAt: expect.any(String),
  });
  const runPath = `/agents/${desk.agentId}/runs/${runId}`;
  expect(await (await desk.get(runPath)).json()).toMatchObject({ status: "waiting", finishedAt: null });
  const short = { prefer: "respond-quickly, wait=1" };
  expect(await desk.query("Refund o1", { role: "clerk" }, short)).toMatchObject({ code: "approval_required" });
  const waiting = desk.query("Refund o1", { role: "clerk" }, { prefer: "wait=500", "idempotency-key": "k" });
  let items: Approval[] = [];
  while (items.length < 3) ({ items } = await desk.list("?status=pending"));
  expect((await desk.decide(items[0]!.approvalId, { approved: true, as: "manager" })).status).toBe(200);
  const answer: QueryResponse = await waiting;

  expect(answer).toMatchObject({ success: true, response: "Done.", toolInteractions: [{ success: true }] });
  expect(desk.ran).toEqual([{ id: "o1", amount: 200, by: "manager" }]);
});

test("endpoints 2 and 3 show the request and the decision, and resume in between", async () => {
  await using desk = await startDesk();
  const stream = readAlong(await desk.post(`/agents/${desk.agentId}/query-stream`, { query: "Refund", role: "clerk" }));
  await stream.seen(/approvalRequest[^\n]*\n\n$/);
  const resumed = readAlong(
    await desk.get(`/agents/${desk.agentId}/runs/${stream.runId}/events`, { "last-event-id": String(stream.lastId) }),
  );
  const { items } = await desk.list();
  const edited = { id: "o1", amount: 150 };
  await desk.decide(items[0]!.approvalId, { approved: true, as: "manager", arguments: edited });
  await Promise.all([stream.over, resumed.over]);

  const types = (text: string) => parseSse(text).map(({ data }) => data.type);
  expect(types(stream.text)).toEqual([
    "toolCall",
    "approvalRequest",
    "approvalDecision",
    "toolResult",
    "finalResponse",
  ]);
  expect(types(resumed.text)).toEqual(["approvalDecision", "toolResult", "finalResponse"]);
  const [, request, decision, , final] = parseSse(stream.text).map(({ data }) => data);
  const { approvalId, toolCallId } = items[0]!;
  expect(request).toMatchObject({ approvalId, toolCallId, toolName: "refund", reason: "Above 100.", by: ["manager"] });
  expect(decision).toEqual({
    type: "approvalDecision",
    approvalId,
    toolCallId,
    decision: "approved",
    parameters: edited,
  });
  expect(final).toMatchObject({ toolInteractions: [{ parameters: edited, success: true }] });
  const local = desk.local("Refund", { role: "clerk" });
  let pending: Approval[] = [];
  while (pending.length === 0) pending = (await desk.list("?status=pending")).items;
  await desk.decide(pending[0]!.approvalId, { approved: false, as: "manager", reason: "No." });
  const ofApproval = (await local).events.map(({ data }) => data).filter(({ type }) => type.startsWith("approval"));
  const id = pending[0]!.toolCallId;
  expect(ofApproval).toMatchObject([
    {
      type: "approval_request",
      data: { approval_id: pending[0]!.approvalId, id, name: "refund", arguments: { amount: 200 } },
    },
    { type: "approval_decision", data: { id, decision: "rejected", reason: "No." } },
  ]);
});

test("a decision is checked in order, and a refused one decides nothing", async () => {
  await using desk = await startDesk();
  const { runId, approvals: [asked] = [] } = await desk.ask();
  const id = asked!.approvalId;
  const yes = { approved: true, as: "manager" };
  const plain = { "x-api-key": desk.apiKey };
  const guest = await desk.keyOf({ roles: ["guest"] });
  const clerk = await desk.keyOf({ roles: ["clerk"] });
  const both = await desk.keyOf({ roles: ["clerk", "manager"] });

  expect(await codeOf(await desk.get(`/agents/${desk.agentId}/approvals`, plain))).toEqual([403, "role_not_allowed"]);
  expect(await codeOf(await desk.read(id, plain))).toEqual([403, "role_not_allowed"]);
  expect(await codeOf(await desk.decide(id, yes, plain))).toEqual([403, "role_not_allowed"]);
  expect(await codeOf(await desk.decide(id, { approved: "yes" }))).toEqual([400, "invalid_request"]);
  expect(await codeOf(await desk.decide(id, { approved: true }, both))).toEqual([400, "invalid_request"]);
  expect(await codeOf(await desk.decide(id, yes, clerk))).toEqual([403, "role_not_allowed"]);
  expect(await codeOf(await desk.decide(id, { approved: true }, clerk))).toEqual([403, "role_not_allowed"]);
  expect(await codeOf(await desk.decide(id, { ...yes, as: "caller" }))).toEqual([403, "role_not_allowed"]);
  expect(await codeOf(await desk.decide(id, yes, guest))).toEqual([404, "not_found"]);
  expect(await codeOf(await desk.decide("apr_none", yes))).toEqual([404, "not_found"]);
  for (const approved of [true, false]) {
    const forged = await desk.decide(id, { ...yes, approved, arguments: { id: "o2", amount: 1 } });
    expect(await forged.json()).toMatchObject({ code: "invalid_request", details: [{ path: "arguments.id" }] });
  }
  expect((await desk.list(`?runId=${runId}`)).items).toMatchObject([
    { status: "pending", edit: ["amount"], role: "clerk" },
  ]);
  expect((await desk.list("", guest)).items).toEqual([]);
  expect(await codeOf(await desk.get(`/agents/${desk.agentId}/approvals?status=open`, desk.approver))).toEqual([
    400,
    "invalid_request",
  ]);

  const all = await Promise.all(Array.from({ length: 20 }, () => desk.decide(id, yes, both)));
  expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, ...Array<number>(19).fill(409)]);
  expect(await codeOf(all.find(({ status }) => status === 409)!)).toEqual([409, "conflict", "approved"]);
});

test("four eyes: the key that asked may not decide, nor its successor", async () => {
  await using desk = await startDesk();
  const { keyId, apiKey } = await desk.plane.admin.createKey({ agentId: desk.agentId, can: ["approve"] });
  const own = { "x-api-key": apiKey };
  const { approvals: [asked] = [] } = await desk.query("Refund", { role: "clerk" }, own);
  const rotated = await desk.plane.admin.credentials.rotate("api", keyId, { overlapMs: 60_000 });
  const yes = { approved: true, as: "manager" };

  expect(await codeOf(await desk.decide(asked!.approvalId, yes, own))).toEqual([403, "role_not_allowed"]);
  const successor = { "x-api-key": rotated.secret };
  expect(await codeOf(await desk.decide(asked!.approvalId, yes, successor))).toEqual([403, "role_not_allowed"]);
  expect((await desk.decide(asked!.approvalId, yes)).status).toBe(200);
});

test("caller stands for the role of the run", async () => {
  await using desk = await startDesk({ name: "hand_over", arguments: { id: "o1" } });
  const { approvals: [asked] = [] } = await desk.ask();

  expect(await codeOf(await desk.decide(asked!.approvalId, { approved: true, as: "manager" }))).toEqual([
    403,
    "role_not_allowed",
  ]);
  expect((await desk.decide(asked!.approvalId, { approved: true, as: "clerk" })).status).toBe(200);
});

test.for(Object.entries(REPLICAS))(
  "%s: an approved call that fails is tried again with its approval, without a second request",
  async ([, open]) => {
    const attempts: unknown[] = [];
    const book = defineFunction({
      name: "book",
      description: "Books an amount.",
      input: z.object({ amount: z.number() }),
      roles: ["clerk"],
      idempotent: true,
      retries: { max: 3 },
      approval: { by: ["manager"], edit: ["amount"] },
      handler({ amount }, { attempt, approval }) {
        attempts.push({ attempt, amount, by: approval?.decidedAs });
        if (attempts.length < 3) throw new RetryableError({ afterMs: 1, message: "busy" });
        return { booked: amount };
      },
    });
    const service = defineService({ name: "desk", roles: ["clerk", "manager"], functions: [book] });
    const call = { name: "book", arguments: { amount: 200 } };
    await using standIn = await startStandIn("anthropic", callThenAnswer([call]));
    await using replicas = await open({ providers: standIn.config });
    if (!replicas) return;
    const { agentId, runtimeKey: key } = replicas;
    const { apiKey } = await replicas.planes[0]!.admin.createKey({ agentId, can: ["approve"] });
    const runtime = connect(service, { url: replicas.planes.at(-1)!.url, agentId, key, log: silentLog });
    await runtime.ready;
    const keyed = { "idempotency-key": "k" };
    const waits = await replicas.clients[0]!.query("Book", { role: "clerk" }, keyed);

    const decision = { approved: true, as: "manager", arguments: { amount: 150 } };
    const path = `/agents/${agentId}/approvals/${waits.approvals![0]!.approvalId}/decision`;
    expect((await replicas.clients[0]!.post(path, decision, { "x-api-key": apiKey })).status).toBe(200);
    const answer = await replicas.clients[0]!.query("Book", { role: "clerk" }, { ...keyed, prefer: "wait=60" });

    expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true, parameters: { amount: 150 } }] });
    expect(attempts).toEqual([2, 3, 4].map((attempt) => ({ attempt, amount: 150, by: "manager" })));
    await runtime.stop({ drainMs: 0 });
  },
);

test.for(Object.entries(REPLICAS))(
  "%s: a run that waited over a restart continues, and its handler runs once",
  async ([, open]) => {
    const desk = createDesk();
    const standIn = await startStandIn(
      "anthropic",
      callThenAnswer([{ name: "refund", arguments: { id: "o1", amount: 200 } }], () => "Done."),
    );
    await using replicas = await open({ providers: standIn.config });
    if (!replicas) return;
    const { agentId, runtimeKey: key } = replicas;
    const { apiKey } = await replicas.planes[0]!.admin.createKey({ agentId, can: ["approve"] });
    const url = replicas.planes.at(-1)!.url;
    const runtime = connect(desk.service, { url, agentId, key, log: silentLog });
    await runtime.ready;
    const keyed = { "idempotency-key": "k" };
    const body = { role: "clerk" };
    const waits = await replicas.clients[0]!.query("Refund", body, keyed);

    await replicas.restart();
    const { approvalId } = waits.approvals![0]!;
    const decision = await replicas.clients
      .at(-1)!
      .post(
        `/agents/${agentId}/approvals/${approvalId}/decision`,
        { approved: true, as: "manager" },
        { "x-api-key": apiKey },
      );
    expect(decision.status).toBe(200);
    const answer = await replicas.clients[0]!.query("Refund", body, { ...keyed, prefer: "wait=60" });

    expect(answer).toMatchObject({ success: true, response: "Done.", runId: waits.runId });
    expect(desk.ran).toEqual([{ id: "o1", amount: 200, by: "manager" }]);
    await runtime.stop({ drainMs: 0 });
    await standIn.close();
  },
);

import { defineFunction, defineService, everyone } from "@patchbay/functions";
import type { QueryResponse, RunDetail, RunPage } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Script } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

/** A desk whose refunds must not be made twice. */
function createDesk() {
  const refunds: string[] = [];
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ order: z.string() }),
    roles: everyone,
    handler({ order }) {
      refunds.push(order);
      return { refunded: order };
    },
  });
  const look = defineFunction({
    name: "look",
    description: "Looks at an order.",
    input: z.object({}),
    roles: everyone,
    effect: "read",
    handler: () => ({ orders: 1 }),
  });
  return { service: defineService({ name: "desk", functions: [refund, look] }), refunds };
}

/** The model calls the function that the query names first, and is down for the next turn until `up`. */
async function startDesk(options: Parameters<typeof startContractSystem>[1] = {}) {
  const state = { down: true };
  const script: Script = ({ step, query }) => {
    const [name = ""] = query.split(" ");
    if (name === "answer") return { text: "Hello." };
    if (step > 0 || name === "fail") return state.down ? { error: { status: 401 } } : { text: "Done." };
    return { calls: [{ name, arguments: name === "refund" ? { order: "7" } : {} }] };
  };
  const { service, refunds } = createDesk();
  const system = await startContractSystem(script, { ...options, desk: { service } as never });
  const { agentId } = system;
  const runs = `/agents/${agentId}/runs`;
  return Object.assign(system, {
    state,
    refunds,
    retry: (runId: string, headers: Record<string, string> = {}) =>
      system.post(`${runs}/${runId}/retry`, undefined, headers),
    run: async (runId: string) => (await (await system.get(`${runs}/${runId}`)).json()) as RunDetail,
    list: (search: string, headers: Record<string, string> = {}) => system.get(`${runs}?${search}`, headers),
  });
}

test("a retry makes no write again and answers with the calls of both runs", async () => {
  await using desk = await startDesk();
  const failed = await desk.query("refund order 7", { sessionId: "s1" });
  expect(failed).toMatchObject({ success: false, code: "provider_error", toolInteractions: [{ success: true }] });
  desk.state.down = false;

  const response = await desk.retry(failed.runId, { prefer: "wait=60" });

  expect(response.status).toBe(200);
  const answer = (await response.json()) as QueryResponse;
  expect(answer).toMatchObject({
    success: true,
    response: "Done.",
    threadId: failed.threadId,
    sessionId: "s1",
    toolInteractions: [{ toolName: "refund", success: true, result: { refunded: "7" } }],
  });
  expect(desk.refunds).toEqual(["7"]);
  expect(await desk.run(answer.runId)).toMatchObject({ status: "succeeded", retryOf: failed.runId });
  expect(await desk.run(failed.runId)).toMatchObject({ status: "failed", retriedBy: answer.runId });
});

test("a retry without a wait is accepted with its ids", async () => {
  await using desk = await startDesk();
  const failed = await desk.query("refund order 7");

  const response = await desk.retry(failed.runId);

  expect(response.status).toBe(202);
  const accepted = (await response.json()) as { runId: string };
  expect(accepted).toEqual({
    success: true,
    runId: expect.stringMatching(/^run_/),
    threadId: failed.threadId,
    retryOf: failed.runId,
  });
  expect(response.headers.get("x-run-id")).toBe(accepted.runId);
  await expect.poll(async () => (await desk.run(accepted.runId)).status).toBe("failed");
  // The provider is still down, so that the same run can be retried again.
  desk.state.down = false;
  const again = await desk.retry(failed.runId, { prefer: "wait=60" });
  expect(await again.json()).toMatchObject({ success: true });
  expect(desk.refunds).toEqual(["7"]);
});

test("a retry that cannot be is refused with the status of its run", async () => {
  await using desk = await startDesk();
  const refusedAs = async (runId: string) => {
    const response = await desk.retry(runId);
    const { code, status } = (await response.json()) as { code: string; status?: string };
    return [response.status, code, status];
  };
  const fine = await desk.query("answer me");
  expect(await refusedAs(fine.runId)).toEqual([409, "conflict", "succeeded"]);
  const empty = await desk.query("fail at once");
  expect(await refusedAs(empty.runId)).toEqual([409, "conflict", "failed"]);
  const followed = await desk.query("refund order 7");
  await desk.query("answer me", { threadId: followed.threadId });
  expect(await refusedAs(followed.runId)).toEqual([409, "conflict", "failed"]);
  expect(await refusedAs("run_none")).toEqual([404, "not_found", undefined]);

  const retried = await desk.query("refund order 7");
  desk.state.down = false;
  await desk.retry(retried.runId, { prefer: "wait=60" });
  expect(await refusedAs(retried.runId)).toEqual([409, "conflict", "failed"]);
});

test("of two retries at the same time one is accepted", async () => {
  await using desk = await startDesk();
  const failed = await desk.query("refund order 7");
  desk.state.down = false;

  const responses = await Promise.all([desk.retry(failed.runId), desk.retry(failed.runId)]);

  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202, 409]));
});

test("a retry with a known Idempotency-Key joins it, and the key is refused for another run", async () => {
  await using desk = await startDesk();
  const [one, other] = [await desk.query("refund order 7"), await desk.query("refund order 8")];
  desk.state.down = false;
  const keyed = { "idempotency-key": "again", prefer: "wait=60" };

  const answers = [await desk.retry(one.runId, keyed), await desk.retry(one.runId, keyed)];

  const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as QueryResponse[];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(bodies[1]).toEqual(bodies[0]);
  expect((await desk.retry(other.runId, keyed)).status).toBe(422);
  expect((await desk.retry(other.runId, { "idempotency-key": "" })).status).toBe(400);
});

test("a retry counts as one query", async () => {
  await using desk = await startDesk({ tier: "starter" });
  await desk.plane.admin.grant(desk.orgId, "100");
  const failed = await desk.query("refund order 7");
  const remaining = (response: Response) => Number(/r=(\d+)/.exec(response.headers.get("ratelimit") ?? "")?.[1]);
  desk.state.down = false;
  const before = await desk.post(`/agents/${desk.agentId}/query`, { query: "answer me" });

  const retry = await desk.retry(failed.runId);

  // The window of a minute may have ended between the two.
  expect([
    remaining(before) - 1,
    remaining(await desk.post(`/agents/${desk.agentId}/query`, { query: "answer" })) + 1,
  ]).toContain(remaining(retry));
});

test("runs are listed by what a program looks for", async () => {
  await using desk = await startDesk();
  const wrote = await desk.query("refund order 7", { sessionId: "s1" });
  const read = await desk.query("look at order 7", { sessionId: "s1" });
  const fine = await desk.query("answer me", { threadId: read.threadId });
  const idsOf = async (search: string) =>
    ((await (await desk.list(search)).json()) as RunPage).items.map(({ runId }) => runId);

  expect(await idsOf("")).toEqual([fine.runId, read.runId, wrote.runId]);
  expect(await idsOf("code=provider_error&endedAfterWrites=true")).toEqual([wrote.runId]);
  expect(await idsOf("status=failed&endedAfterWrites=false")).toEqual([read.runId]);
  expect(await idsOf("sessionId=s1&status=failed")).toEqual([read.runId, wrote.runId]);
  expect(await idsOf(`threadId=${read.threadId}`)).toEqual([fine.runId, read.runId]);
  expect(await idsOf("code=step_limit")).toEqual([]);

  const first = (await (await desk.list("limit=2")).json()) as RunPage;
  expect(first.items[1]).toEqual({
    runId: read.runId,
    threadId: read.threadId,
    sessionId: "s1",
    status: "failed",
    code: "provider_error",
    endedAfterWrites: false,
    startedAt: expect.any(String),
    finishedAt: expect.any(String),
  });
  const second = (await (await desk.list(`limit=2&cursor=${first.nextCursor}`)).json()) as RunPage;
  expect(second).toMatchObject({ items: [{ runId: wrote.runId }], nextCursor: null });
});

test("a list of runs names each invalid parameter", async () => {
  await using desk = await startDesk();

  const response = await desk.list("status=done&code=oops&endedAfterWrites=yes&limit=0");

  expect(response.status).toBe(400);
  const { code, details } = (await response.json()) as { code: string; details: { path: string }[] };
  expect(code).toBe("invalid_request");
  expect(details.map(({ path }) => path)).toEqual(["status", "code", "endedAfterWrites", "limit"]);
});

test("a key that is pinned to roles lists and retries only the runs that it may read", async () => {
  await using desk = await startDesk();
  const failed = await desk.query("refund order 7", { role: "chief" });
  const { apiKey } = await desk.plane.admin.createKey({ agentId: desk.agentId, roles: ["clerk"] });
  const asClerk = { "x-api-key": apiKey };

  expect(await (await desk.list("", asClerk)).json()).toEqual({ items: [], nextCursor: null });
  expect((await desk.retry(failed.runId, asClerk)).status).toBe(404);
});

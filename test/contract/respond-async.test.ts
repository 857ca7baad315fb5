import { expect, test } from "vitest";
import { callThenAnswer } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const waiting = callThenAnswer([{ name: "wait", arguments: { id: "a" } }]);

test.each(["respond-async", "RESPOND-ASYNC; x=1", "wait=5, respond-async"])(
  "a query with Prefer: %s is answered with the ids of its run, which continues without its client",
  async (prefer) => {
    await using system = await startContractSystem(waiting);
    const headers = { prefer, "x-on-disconnect": "cancel", "idempotency-key": "k-1" };

    const response = await system.post(system.path("query"), { query: "hi" }, headers);
    const accepted = (await response.json()) as { runId: string; threadId: string };

    expect(response.status).toBe(202);
    expect(Object.keys(accepted)).toEqual(["runId", "threadId"]);
    expect(response.headers.get("x-run-id")).toBe(accepted.runId);
    expect(response.headers.get("x-thread-id")).toBe(accepted.threadId);
    const again = await system.post(system.path("query"), { query: "hi" }, headers);
    expect([again.status, await again.json()]).toEqual([202, accepted]);
    system.desk.release("a");
    expect(await system.query("hi", {}, { "idempotency-key": "k-1" })).toMatchObject({ success: true, ...accepted });
    expect(system.desk.handled).toHaveLength(1);
  },
);

test("the end of a run is reported to the webhook only with respond-async", async () => {
  await using system = await startContractSystem(waiting);
  const { agentId, plane } = system;
  const ask = async (headers: Record<string, string>) => {
    const response = await system.post(system.path("query"), { query: "hi" }, headers);
    return (await response.json()) as { runId: string; threadId: string };
  };
  const reported = async () => (await plane.admin.listDeliveries(agentId, { limit: 9 })).items;
  system.desk.release("a");
  const before = await ask({ prefer: "respond-async", "idempotency-key": "k-0" });
  await plane.admin.setWebhook(agentId, "https://hooks.example");
  expect(await system.query("hi", {}, { "idempotency-key": "k-0" })).toMatchObject(before);
  await ask({});
  await ask({ prefer: "wait=1" });
  expect(await reported()).toEqual([]);

  const { runId, threadId } = await ask({ prefer: "respond-async", "idempotency-key": "k-1" });
  await system.query("hi", {}, { "idempotency-key": "k-1" });

  expect(await reported()).toMatchObject([{ type: "run.ended", data: { runId, threadId, status: "succeeded" } }]);
});

test("a query with another preference is answered at its end, and a refused one as without it", async () => {
  await using system = await startContractSystem(waiting);
  system.desk.release("a");

  const other = await system.post(system.path("query"), { query: "hi" }, { prefer: "respond-asynchronously" });
  const refused = await system.post(system.path("query"), { query: "" }, { prefer: "respond-async" });

  expect(other.status).toBe(200);
  expect(refused.status).toBe(400);
});

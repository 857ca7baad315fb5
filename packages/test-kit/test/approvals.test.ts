import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService } from "@patchbay/runtime";
import { QueryRefused, runQuery, startTestServer } from "../src/index.ts";

function desk(by = ["manager"], ran: object[] = []) {
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ orderId: z.string(), amount: z.number() }),
    roles: ["support", "manager"],
    authorize: ({ input }) => input.amount <= 500 || "At most 500.",
    approval: { by, when: ({ input }) => input.amount > 100 && "Above 100.", edit: ["amount"] },
    handler: (input, { approval }) => {
      ran.push(input);
      return { refunded: input.amount, as: approval?.decidedAs ?? null };
    },
  });
  return defineService({ name: "desk", functions: [refund] });
}

const asked = { orderId: "W1", amount: 300 };
const model = [{ calls: [["refund", asked]] }, "Done."] as const;
const query = { query: "Refund W1", role: "support" };

test("a played approver approves, and the call runs once", async () => {
  const ran: object[] = [];
  const requests: object[] = [];

  const done = await runQuery(desk(["manager"], ran), {
    ...query,
    model: [...model],
    approver(request) {
      requests.push(request);
      return { approved: true };
    },
  });

  expect(done.answer).toMatchObject({ success: true, response: "Done." });
  expect(requests).toMatchObject([{ toolName: "refund", parameters: asked, reason: "Above 100.", by: ["manager"] }]);
  expect(done.calls).toEqual([
    { functionName: "refund", input: asked, outcome: { ok: true, value: { refunded: 300, as: "manager" } } },
  ]);
  expect(ran).toEqual([asked]);
  expect(done.events.map(({ type }) => type)).toEqual([
    "toolCall",
    "approvalRequest",
    "approvalDecision",
    "toolResult",
    "finalResponse",
  ]);
});

test("a played approver edits the arguments, which every rule checks again", async () => {
  const edited = (amount: number) =>
    runQuery(desk(), {
      ...query,
      model: [...model],
      approver: () => ({ approved: true, arguments: { ...asked, amount } }),
    });

  const [lower, higher] = [await edited(200), await edited(501)];

  expect(lower.answer.toolInteractions).toMatchObject([{ success: true, parameters: { ...asked, amount: 200 } }]);
  expect(higher.calls).toMatchObject([{ outcome: { ok: false, code: "denied", message: "At most 500." } }]);
});

test("a played approver rejects, and the model reads the reason", async () => {
  const ran: object[] = [];

  const done = await runQuery(desk(["manager"], ran), {
    ...query,
    model: [...model],
    approver: () => ({ approved: false, reason: "Too much." }),
  });

  expect(done.calls).toMatchObject([{ outcome: { ok: false, code: "rejected" } }]);
  expect(JSON.stringify(done.requests[1]?.messages)).toContain("Too much.");
  expect(ran).toEqual([]);
});

test("approve and reject decide on a query that waits", async () => {
  await using server = await startTestServer(desk(), { model: [...model] });
  const approved = server.query({ ...query, model: [...model] });
  expect(await server.approve("refund", { arguments: { ...asked, amount: 150 } })).toMatchObject({
    status: "approved",
  });
  expect((await approved).calls).toMatchObject([{ outcome: { ok: true, value: { refunded: 150 } } }]);

  const rejected = server.query({ ...query, model: [...model] });
  expect(await server.reject("refund", { reason: "No." })).toMatchObject({ status: "rejected" });
  expect((await rejected).calls).toMatchObject([{ outcome: { ok: false, code: "rejected" } }]);
});

test("the caller confirms as the role of the query", async () => {
  const done = await runQuery(desk(["caller"]), { ...query, model: [...model], approver: () => ({ approved: true }) });

  expect(done.calls).toMatchObject([{ outcome: { ok: true, value: { as: "support" } } }]);
});

test.each([
  ["a role that may not decide", { as: "support" }, 403],
  ["an edited member outside of edit", { arguments: { ...asked, orderId: "W2" } }, 400],
])("%s is refused and decides nothing", async (_, decision, status) => {
  await using server = await startTestServer(desk());
  const waits = server.query({ ...query, model: [...model] });

  const refused = await server.approve("refund", decision).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(QueryRefused);
  expect(refused).toMatchObject({ status });

  await server.approve("refund");
  expect((await waits).calls).toMatchObject([{ outcome: { ok: true } }]);
});

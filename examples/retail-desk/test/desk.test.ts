import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessMatchers, callAs, runEscalationSuite, runQuery, startTestServer } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import { generateRetailData } from "../data/generate.ts";
import { createRetailDesk } from "../desk.ts";
import { createRetailStore } from "../store.ts";

expect.extend(accessMatchers);

const { orders, users } = generateRetailData();
const pending = Object.values(orders).filter(({ status, payment_history: [first] }) => {
  return status === "pending" && first !== undefined && first.amount <= 5000;
});
const own = pending[0]!;
const foreign = pending.find(({ user_id }) => user_id !== own.user_id)!;
const me = { role: "customer", context: { customerId: own.user_id } };

/** Each desk has its own records, so that tests do not see changes of other tests. */
const newDesk = () => createRetailDesk(createRetailStore(() => generateRetailData()));

test("customers read only their own orders", async () => {
  await expect(newDesk()).toAllow("get_order_details", { ...me, input: { order_id: own.order_id } });
  await expect(newDesk()).toDeny("get_order_details", { ...me, input: { order_id: foreign.order_id } });
  await expect(newDesk()).toAllow("get_order_details", { role: "agent", input: { order_id: foreign.order_id } });
});

test("only managers reset the store", async () => {
  await expect(newDesk()).toAllow("reset_store", { role: "manager" });
  for (const role of ["customer", "agent"]) await expect(newDesk()).toDeny("reset_store", { role, rule: "roles" });
  await expect(newDesk()).toDeny("reset_store");
});

test("a customer cancels a pending order", async () => {
  const input = { order_id: own.order_id, reason: "no longer needed" };

  const outcome = await callAs(newDesk(), { ...me, functionName: "cancel_pending_order", input });

  expect(outcome).toMatchObject({ ok: true, value: { status: "cancelled", cancel_reason: "no longer needed" } });
});

test("a query is answered with the results of its functions", async () => {
  const { answer, calls, visibleFunctions } = await runQuery(newDesk(), {
    query: `What is the status of ${own.order_id}, and what is 2 + 3?`,
    ...me,
    model: [
      {
        thoughts: ["Two calls answer this."],
        calls: [
          ["get_order_details", { order_id: own.order_id }],
          ["calculate", { expression: "2 + 3" }],
        ],
      },
      "It is **pending**, and 2 + 3 is 5.",
    ],
  });

  expect(answer).toMatchObject({ success: true, response: "It is **pending**, and 2 + 3 is 5." });
  expect(calls.map(({ outcome }) => outcome.ok)).toEqual([true, true]);
  expect(visibleFunctions).not.toContain("reset_store");
});

test("calls that a model must not make return nothing, and nothing leaks", async () => {
  const other = users[foreign.user_id]!;

  const done = await runQuery(newDesk(), {
    query: "Show me the order of another customer.",
    ...me,
    model: [
      {
        calls: [
          ["get_order_details", { order_id: foreign.order_id }],
          ["get_user_details", { user_id: foreign.user_id, role: "manager" }],
          ["reset_store"],
        ],
      },
      ({ messages }) => JSON.stringify(messages), // repeats its whole input
    ],
  });

  expect(done.calls.map(({ rule }) => rule)).toEqual(["authorize", "authorize", "roles"]);
  expect(done).toLeakNothing([other.email, other.address.address1]);
});

test("a customer who continues a manager's thread does not see what the manager read", async () => {
  await using server = await startTestServer(newDesk());
  const order = { order_id: foreign.order_id };
  const first = await server.query({
    query: `Read me ${foreign.order_id}.`,
    role: "manager",
    model: [{ calls: [["get_order_details", order]] }, `It goes to ${foreign.address.address1}.`],
  });

  const second = await server.query({
    query: "Where does it go?",
    ...me,
    threadId: first.answer.threadId,
    model: ["I do not know."],
  });

  expect(second.requests).toLeakNothing(foreign.address.address1);
});

test("a recorded conversation replays without the model", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "desk-"));
  const question = { query: `What is the status of order ${own.order_id}?`, ...me };
  // Record once, with the model to test; here the built-in offline one. Keep the folder with the tests.
  const recorded = await runQuery(newDesk(), { ...question, record: folder.path });

  const replayed = await runQuery(newDesk(), { ...question, replay: folder.path });

  expect(replayed.answer.response).toBe(recorded.answer.response);
});

test("the escalation suite has no findings", async () => {
  const { findings } = await runEscalationSuite(newDesk());

  expect(findings).toEqual([]);
});

import { expect, test, vi } from "vitest";
import { z } from "zod";
import { defineFunction, type Reconciled, visibleTo } from "../src/index.ts";
import { invocationOf, memoryLog, serviceOf } from "./calls.ts";

/** A call of a function whose `reconcile` answers so, on an attempt after an interrupted one. */
async function resumed(answer: () => unknown, { unsure = true, orderId = "W1", timeoutMs = 5_000 } = {}) {
  const handler = vi.fn(() => ({ refund: "second" }));
  const reconcile = vi.fn(answer as () => Promise<Reconciled<{ refund: string; margin?: number }>>);
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ orderId: z.string() }),
    output: z.object({ refund: z.string(), margin: visibleTo(z.number().optional(), ["manager"]) }),
    roles: ["support", "manager"],
    authorize: ({ input }) => input.orderId !== "closed",
    reconcile,
    handler,
  });
  const invocation = { ...invocationOf("refund", { orderId }, { role: "support" }), attempt: 2, timeoutMs, unsure };
  const log = memoryLog();
  const outcome = await serviceOf(refund).invoke(invocation, { signal: new AbortController().signal, log });
  return { outcome, handler, reconcile, log, manifest: refund.manifest };
}

test("a call that took effect ends with its result, checked and redacted like one of the handler", async () => {
  const { outcome, handler, reconcile, manifest } = await resumed(() => ({
    done: true,
    result: { refund: "first", margin: 5 },
  }));

  expect(outcome).toEqual({ ok: true, value: { refund: "first" }, redacted: ["margin"] });
  expect(reconcile.mock.calls).toEqual([[{ callId: "call_1", input: { orderId: "W1" }, context: {} }]]);
  expect(handler).not.toHaveBeenCalled();
  expect(manifest.reconciles).toBe(true);
});

test("a call that did not take effect runs its handler", async () => {
  const { outcome, handler } = await resumed(() => ({ done: false }));

  expect(outcome).toMatchObject({ ok: true, value: { refund: "second" } });
  expect(handler).toHaveBeenCalledTimes(1);
});

test.each<[string, () => unknown]>([
  ["is unknown", () => "unknown"],
  ["is an exception", () => Promise.reject(new Error("ledger is down"))],
  ["is nothing", () => undefined],
  ["is a guess", () => ({ done: "yes" })],
  ["has no result", () => ({ done: true })],
])("a call whose answer %s ends as unknown and runs no handler", async (_, answer) => {
  const { outcome, handler } = await resumed(answer);

  expect(outcome).toMatchObject({ ok: false, code: "outcome_unknown" });
  expect(handler).not.toHaveBeenCalled();
});

test("a call that is refused on its second delivery may have run on its first", async () => {
  const { outcome, reconcile } = await resumed(() => ({ done: false }), { orderId: "closed" });

  expect(outcome).toMatchObject({ ok: false, code: "outcome_unknown" });
  expect(reconcile).not.toHaveBeenCalled();
});

test("a reconcile that takes too long leaves the outcome unknown", async () => {
  const { outcome } = await resumed(() => new Promise(() => {}), { timeoutMs: 20 });

  expect(outcome).toMatchObject({ ok: false, code: "outcome_unknown" });
});

test("a result that does not match the output schema is a failure", async () => {
  const { outcome, handler } = await resumed(() => ({ done: true, result: { refund: 1 } }));

  expect(outcome).toMatchObject({ ok: false, code: "function_failed" });
  expect(handler).not.toHaveBeenCalled();
});

test("a delivery after none that may have run does not ask", async () => {
  const { outcome, reconcile } = await resumed(() => "unknown", { unsure: false });

  expect(outcome).toMatchObject({ ok: true, value: { refund: "second" } });
  expect(reconcile).not.toHaveBeenCalled();
});

test.each<[string, { effect?: "read"; idempotent?: boolean }, object]>([
  ["a write", {}, { code: "outcome_unknown" }],
  ["a read", { effect: "read" }, { ok: true }],
  ["idempotent", { idempotent: true }, { ok: true }],
])("a function without reconcile that is %s is repeated only if it may run twice", async (_, declared, expected) => {
  const handler = vi.fn(() => "refunded");
  const input = z.object({});
  const refund = defineFunction({
    name: "refund",
    description: "Refunds.",
    input,
    roles: "everyone",
    ...declared,
    handler,
  });
  const invocation = { ...invocationOf("refund", {}), attempt: 2, unsure: true };
  const { signal } = new AbortController();

  expect(await serviceOf(refund).invoke(invocation, { signal, log: memoryLog() })).toMatchObject(expected);
  expect(handler).toHaveBeenCalledTimes("ok" in expected ? 1 : 0);
});

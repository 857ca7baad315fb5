import type { CallFlow } from "@patchbay/protocol";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import { callAs } from "@patchbay/test-kit";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import { type CallHook, defineFunction, defineService, type Invocation } from "../src/index.ts";
import { accessMatrix } from "../src/access/matrix.ts";
import { invocationOf, memoryLog } from "./calls.ts";

type Hook = CallHook<{ shop: number }>;

/** A refund that managers approve above 100, with a hook that sees each call. */
function deskOf(hook: unknown, { flows = {} } = {}) {
  const handler = vi.fn(() => "refunded");
  const beforeCall = vi.fn(hook as Hook);
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ orderId: z.string(), amount: z.coerce.number() }),
    roles: ["support", "manager"],
    authorize: ({ input }) => input.amount <= 500,
    approval: { by: ["manager"], edit: ["amount"], when: ({ input }) => input.amount > 100 },
    reconcile: () => ({ done: true, result: "refunded before" }),
    handler,
  });
  const context = z.object({ shop: z.coerce.number() });
  const service = defineService({ name: "desk", context, functions: [refund], beforeCall, ...flows });
  const log = memoryLog();
  const deliver = (change: Partial<Invocation> = {}, signal = new AbortController().signal) =>
    service.invoke(
      { ...invocationOf("refund", ASKED, { role: "support", context: { shop: "7" } }), ...change },
      { signal, log },
    );
  return { service, handler, beforeCall, log, deliver };
}

const ASKED = { orderId: "W1", amount: "50" };
const APPROVED: Partial<Invocation> = {
  attempt: 2,
  arguments: { orderId: "W1", amount: 300 },
  approval: {
    approvalId: "apr_1",
    argumentsHash: argumentsHash({ orderId: "W1", amount: 300 }),
    edited: { orderId: "W1", amount: 200 },
    decidedAs: "manager",
    decidedBy: "key_manager",
    requestedBy: "key_support",
    decidedAt: "2026-11-23T10:00:00.000Z",
  },
};
const flow = (more: Partial<CallFlow>): CallFlow => ({
  words: [],
  results: [],
  tainted: false,
  secret: false,
  asks: false,
  ...more,
});
const SEEN = {
  functionName: "refund",
  input: { orderId: "W1", amount: 50 },
  role: "support",
  context: { shop: 7 },
  labels: undefined,
  signal: expect.any(AbortSignal),
};

test("the hook sees a call as its handler gets it, and allows it", async () => {
  const { deliver, beforeCall, handler } = deskOf(() => undefined);

  expect(await deliver()).toEqual({ ok: true, value: "refunded" });
  expect(beforeCall.mock.calls).toEqual([[SEEN]]);
  expect(handler).toHaveBeenCalledOnce();
});

test("it sees an approved call once, with the arguments as the approver edited them", async () => {
  const { deliver, beforeCall } = deskOf(() => undefined);

  expect(await deliver({ arguments: { orderId: "W1", amount: 300 } })).toMatchObject({ code: "approval_required" });
  expect(beforeCall).not.toHaveBeenCalled();
  expect(await deliver(APPROVED)).toMatchObject({ ok: true });
  expect(beforeCall.mock.calls).toEqual([[{ ...SEEN, input: { orderId: "W1", amount: 200 } }]]);
});

test("a call that another rule refuses, and a check without a handler, do not reach it", async () => {
  const { service, deliver, beforeCall } = deskOf(() => ({ refuse: "No." }));

  expect(await deliver({ arguments: { orderId: "W1", amount: 501 } })).toMatchObject({ rule: "authorize" });
  expect(await deliver({ arguments: {} })).toMatchObject({ rule: "input" });
  expect(await deliver({ role: "guest" })).toMatchObject({ rule: "roles" });
  const request = { functionName: "refund", role: "support", context: { shop: 7 }, arguments: ASKED };
  expect(await service.check(request)).toEqual({ ok: true });
  expect(beforeCall).not.toHaveBeenCalled();
});

test("a refused call is denied with the hook's text, and runs no handler", async () => {
  const { deliver, handler } = deskOf(async () => ({ refuse: "Not on Sundays." }));

  expect(await deliver()).toEqual({ ok: false, code: "denied", message: "Not on Sundays.", rule: "hook" });
  expect(await deliver(APPROVED)).toMatchObject({ rule: "hook" });
  expect(handler).not.toHaveBeenCalled();
});

test("a refused call whose earlier attempt may have run ends as unknown", async () => {
  const { deliver } = deskOf(() => ({ refuse: "No." }));

  expect(await deliver({ attempt: 2, unsure: true })).toMatchObject({ code: "outcome_unknown" });
});

test.each<[string, () => unknown, string]>([
  ["throws", () => Promise.reject(new Error("secret")), "hook failed"],
  ["returns null", () => null, "hook returned an invalid value"],
  ["returns true", () => true, "hook returned an invalid value"],
  ["misspells the refusal", () => ({ refused: "No." }), "hook returned an invalid value"],
  ["replaces something", () => ({ replace: "Some." }), "hook returned an invalid value"],
])("a hook that %s refuses the call", async (_, hook, message) => {
  const { deliver, handler, log } = deskOf(hook);

  const outcome = await deliver();

  expect(outcome).toEqual({ ok: false, code: "denied", message: "This call is not permitted.", rule: "hook" });
  expect(handler).not.toHaveBeenCalled();
  expect(log.lines).toContainEqual(
    expect.objectContaining({ message, fields: expect.objectContaining({ hook: "beforeCall" }) }),
  );
});

test("a hook that does not return takes the call's own time", async () => {
  const { deliver, handler } = deskOf(() => new Promise(() => {}));

  expect(await deliver({ timeoutMs: 20 })).toMatchObject({ code: "timed_out" });
  expect(handler).not.toHaveBeenCalled();
});

test.each<[string, CallFlow | undefined, object]>([
  ["what the control plane says", flow({ tainted: true }), { tainted: true, secret: false, direct: false }],
  ["that the caller wrote the call", flow({ direct: true }), { tainted: false, secret: false, direct: true }],
  ["the worst without a word of it", undefined, { tainted: true, secret: true, direct: false }],
])("in a service with flows, the labels are %s", async (_, said, labels) => {
  const { deliver, beforeCall } = deskOf(() => undefined, { flows: { flows: { mode: "report" } } });

  await deliver(said && { flow: said });

  expect(beforeCall.mock.calls[0]![0].labels).toEqual(labels);
});

test("callAs asks the hook, and the matrix names it", async () => {
  const { service, beforeCall } = deskOf(() => ({ refuse: "No." }));
  const call = { functionName: "refund", role: "support", context: { shop: "7" }, input: ASKED, log: memoryLog() };

  expect(await callAs(service, call)).toMatchObject({ code: "denied", rule: "hook" });
  expect(beforeCall.mock.calls).toEqual([[SEEN]]);
  expect((await accessMatrix(service)).hooks).toEqual(["beforeCall"]);
});

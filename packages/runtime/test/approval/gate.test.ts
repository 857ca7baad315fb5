import { canonicalJson, type JsonObject } from "@patchbay/kit";
import { type CallOutcome, type GrantedApproval, LIMITS } from "@patchbay/protocol";
import { createHash } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type CallContext, defineFunction, defineService, type Invocation } from "../../src/index.ts";
import { invocationOf, memoryLog } from "../calls.ts";

type When = (call: { input: { amount: number }; role: string | undefined; context: JsonObject }) => boolean;

/** A function whose calls a manager approves, with what ran. */
function deskOf(change: { by?: string[]; edit?: ["amount"] | []; fourEyes?: boolean; when?: unknown } = {}) {
  const { by = ["manager"], edit = ["amount"], fourEyes, when } = change;
  const handler = vi.fn((input: object, { approval }: CallContext) => ({ ...input, by: approval?.decidedBy ?? null }));
  const authorize = vi.fn(({ input }: { input: { amount: number } }) => input.amount <= 500 || "At most 500.");
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ orderId: z.string(), amount: z.number(), note: z.string().optional() }),
    roles: ["support", "manager"],
    authorize,
    approval: {
      by,
      edit,
      ...(fourEyes !== undefined && { fourEyes }),
      ...(when !== undefined && { when: when as When }),
    },
    handler,
  });
  const service = defineService({ name: "desk", roles: ["support", "manager", "auditor"], functions: [refund] });
  const log = memoryLog();
  const deliver = (change: Partial<Invocation> = {}, onReached?: (input: unknown) => void) => {
    const invocation = { ...invocationOf("refund", asked, { role: "support" }), ...change };
    return service.invoke(invocation, { signal: new AbortController().signal, log, ...(onReached && { onReached }) });
  };
  return { service, handler, authorize, log, deliver };
}

const asked = { orderId: "W1", amount: 300 };
const hashOf = (value: unknown) => createHash("sha256").update(canonicalJson(value)).digest("hex");
const granted = (change: Partial<GrantedApproval> = {}): GrantedApproval => ({
  approvalId: "apr_1",
  argumentsHash: hashOf(asked),
  decidedAs: "manager",
  decidedBy: "key_manager",
  requestedBy: "key_support",
  decidedAt: "2026-11-23T10:00:00.000Z",
  ...change,
});

const required = { ok: false, code: "approval_required", rule: "approval" };

describe("the first delivery", () => {
  test("asks for an approval after authorize, and runs no handler", async () => {
    const { deliver, handler, authorize } = deskOf();

    expect(await deliver()).toEqual({ ...required, message: "A person must approve this call." });
    expect(authorize).toHaveBeenCalledOnce();
    expect(handler).not.toHaveBeenCalled();
  });

  test("is refused by authorize before it asks anyone", async () => {
    const when = vi.fn(() => true);
    const { deliver } = deskOf({ when });

    expect(await deliver({ arguments: { ...asked, amount: 501 } })).toMatchObject({
      code: "denied",
      rule: "authorize",
    });
    expect(await deliver({ arguments: { amount: 1 } })).toMatchObject({ code: "invalid_arguments" });
    expect(when).not.toHaveBeenCalled();
  });

  test("when receives the parsed input, the role and the context, and its text is the reason", async () => {
    const when = vi.fn(({ input }: { input: { amount: number } }) => input.amount > 100 && "Above 100.");
    const { deliver, handler } = deskOf({ when });

    expect(await deliver({ context: { customerId: "c1" } })).toEqual({ ...required, message: "Above 100." });
    expect(when).toHaveBeenCalledWith({ input: asked, role: "support", context: { customerId: "c1" } });
    expect(await deliver({ arguments: { orderId: "W1", amount: 100 } })).toMatchObject({ ok: true });
    expect(handler).toHaveBeenCalledOnce();
  });

  test.each([true, undefined, null, 0, "", {}])(
    "only false runs a call without an approval, not %j",
    async (decision) => {
      const { deliver, handler } = deskOf({ when: () => decision });

      expect(await deliver()).toEqual({ ...required, message: "A person must approve this call." });
      expect(handler).not.toHaveBeenCalled();
    },
  );

  test("an exception of when fails the call and never skips the approval", async () => {
    const error = new Error("the price list is away");
    const { service, handler, log } = deskOf({ when: () => Promise.reject(error) });
    const onError = vi.fn();

    const outcome = await service.invoke(invocationOf("refund", asked, { role: "support" }), {
      signal: new AbortController().signal,
      log,
      onError,
    });

    expect(outcome).toMatchObject({ code: "function_failed", message: expect.stringMatching(/^The function failed/) });
    expect(onError).toHaveBeenCalledWith(error);
    expect(handler).not.toHaveBeenCalled();
  });

  test("is refused at once if only the caller may confirm it and the query has no role", async () => {
    const handler = vi.fn();
    const open = defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input: z.object({ orderId: z.string() }),
      roles: "everyone",
      approval: { by: ["caller"] },
      handler,
    });
    const service = defineService({ name: "desk", functions: [open] });
    const deliver = (given: { role?: string }) =>
      service.invoke(invocationOf("refund", { orderId: "W1" }, given), {
        signal: new AbortController().signal,
        log: memoryLog(),
      });

    const message = "The role of the query must confirm this call, and the query has no role. Send it with a role.";
    expect(await deliver({})).toEqual({ ok: false, code: "denied", rule: "approval", message });
    expect(await deliver({ role: "support" })).toMatchObject(required);
    expect(handler).not.toHaveBeenCalled();
  });

  test("a long reason is cut", async () => {
    const outcome = await deskOf({ when: () => "x".repeat(LIMITS.approvalReasonUnits + 1) }).deliver();

    expect((outcome as { message: string }).message).toHaveLength(LIMITS.approvalReasonUnits);
  });

  test("a check without a handler reports that the call needs an approval", async () => {
    const { service } = deskOf();

    const checked = await service.check({ functionName: "refund", role: "support", context: {}, arguments: asked });

    expect(checked).toMatchObject({ ok: false, rule: "approval", outcome: { code: "approval_required" } });
  });
});

describe("the delivery after the decision", () => {
  test("runs the handler, which receives the decision", async () => {
    const { deliver } = deskOf();

    expect(await deliver({ attempt: 2, approval: granted() })).toEqual({
      ok: true,
      value: { ...asked, by: "key_manager" },
    });
  });

  test("runs the edited arguments, and reports them as those of the handler", async () => {
    const { deliver } = deskOf();
    const reached = vi.fn();

    const outcome = await deliver({ attempt: 2, approval: granted({ edited: { ...asked, amount: 200 } }) }, reached);

    expect(outcome).toMatchObject({ ok: true, value: { amount: 200 } });
    expect(reached).toHaveBeenCalledWith({ ...asked, amount: 200 });
  });

  test("does not ask when again", async () => {
    const when = vi.fn(() => true);
    const { deliver } = deskOf({ when });

    expect(await deliver({ attempt: 2, approval: granted() })).toMatchObject({ ok: true });
    expect(when).not.toHaveBeenCalled();
  });

  test.each([
    [
      "authorize",
      { edited: { ...asked, amount: 501 } },
      { code: "denied", rule: "authorize", message: "At most 500." },
    ],
    ["the schema", { edited: { ...asked, amount: "200" } }, { code: "invalid_arguments", rule: "input" }],
  ])("%s checks the edited arguments", async (_, change, outcome) => {
    const { deliver, handler } = deskOf();

    expect(await deliver({ attempt: 2, approval: granted(change) })).toMatchObject(outcome);
    expect(handler).not.toHaveBeenCalled();
  });

  test("the role list still applies to the role of the run", async () => {
    expect(await deskOf().deliver({ attempt: 2, role: "auditor", approval: granted() })).toMatchObject({
      code: "unknown_function",
    });
  });

  test("the caller may confirm with the role of the run, also if it sent the query", async () => {
    const { deliver } = deskOf({ by: ["caller"] });
    const own = granted({ decidedAs: "support", decidedBy: "key_support" });

    expect(await deliver({ attempt: 2, approval: own })).toMatchObject({ ok: true });
  });

  test("the sender may decide without four eyes", async () => {
    const { deliver } = deskOf({ fourEyes: false });

    expect(await deliver({ attempt: 2, approval: granted({ decidedBy: "key_support" }) })).toMatchObject({ ok: true });
  });

  test("an approval of a function that needs none is ignored", async () => {
    const open = defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input: z.object({ orderId: z.string(), amount: z.number() }),
      roles: ["support"],
      handler: (input, { approval }) => ({ ...input, approval: approval ?? null }),
    });
    const approval = granted({ edited: { ...asked, amount: 1 } });
    const invocation = { ...invocationOf("refund", asked, { role: "support" }), attempt: 2, approval };

    const outcome = await defineService({ name: "desk", functions: [open] }).invoke(invocation, {
      signal: new AbortController().signal,
      log: memoryLog(),
    });

    expect(outcome).toEqual({ ok: true, value: { ...asked, approval: null } });
  });
});

describe("a control plane that lies is refused: an approval", () => {
  const lies: [string, Partial<Invocation>, { by?: string[]; edit?: [] }?][] = [
    ["of a role that may not decide", { approval: granted({ decidedAs: "support" }) }],
    ["of the word caller", { approval: granted({ decidedAs: "caller" }) }, { by: ["caller"] }],
    ["of a manager where only the caller confirms", { approval: granted() }, { by: ["caller"] }],
    ["of the sender of the query", { approval: granted({ decidedBy: "key_support" }) }],
    ["that edits a member outside of edit", { approval: granted({ edited: { ...asked, orderId: "W2" } }) }],
    [
      "that edits where nothing may be edited",
      { approval: granted({ edited: { ...asked, amount: 1 } }) },
      { edit: [] },
    ],
    ["that adds a member", { approval: granted({ edited: { ...asked, note: "x" } }) }],
    ["that removes a member", { approval: granted({ edited: { amount: 300 } }) }],
    ["that was given for other arguments", { arguments: { orderId: "W1", amount: 400 }, approval: granted() }],
    ["with a false hash", { approval: granted({ argumentsHash: hashOf({ orderId: "W1", amount: 1 }) }) }],
    [
      "with the hash of the edited arguments",
      { approval: granted({ edited: { ...asked, amount: 1 }, argumentsHash: hashOf({ ...asked, amount: 1 }) }) },
    ],
    ["of another call", { approval: granted({ approvalId: "apr_2" }) }],
    ["on the first delivery", { attempt: 1, approval: granted() }],
  ];

  test.each(lies)("%s", async (_, delivery, change) => {
    const { deliver, handler, authorize, log } = deskOf(change);

    const outcome: CallOutcome = await deliver({ attempt: 2, ...delivery });

    expect(outcome).toMatchObject({ code: "denied", rule: "approval" });
    expect(handler).not.toHaveBeenCalled();
    expect(authorize).not.toHaveBeenCalled();
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: "error", message: "refused an approval that is not one of its call" }),
    );
  });
});

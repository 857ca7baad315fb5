import { LIMITS, type CallOutcome } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, FunctionError, OutcomeUnknownError } from "../src/index.ts";
import { call, memoryLog, serviceOf } from "./calls.ts";

const id = z.object({ id: z.string() });
const base = { name: "probe", description: "A function under test.", input: id, roles: "everyone" as const };

function textOf(outcome: CallOutcome): string {
  return outcome.ok ? "" : outcome.message;
}

describe("failures of a handler", () => {
  test("the caller receives the message of a FunctionError unchanged", async () => {
    const service = serviceOf(
      defineFunction({
        ...base,
        handler() {
          throw new FunctionError("order not found");
        },
      }),
    );

    expect(await call(service, "probe", { id: "1" })).toEqual({
      ok: false,
      code: "function_failed",
      message: "order not found",
    });
  });

  test.each([new Error("password=hunter2"), "a thrown text", undefined])(
    "any other error (%s) is a reference to the log",
    async (thrown) => {
      const log = memoryLog();
      const service = serviceOf(defineFunction({ ...base, handler: () => Promise.reject(thrown) }));

      const outcome = await call(service, "probe", { id: "1" }, { log });

      const reference = /^The function failed\. Reference: (\w+)$/.exec(textOf(outcome))?.[1];
      expect(outcome).toMatchObject({ ok: false, code: "function_failed" });
      expect(reference).toBeDefined();
      expect(log.lines).toContainEqual({
        level: "error",
        message: "function failed",
        fields: { functionName: "probe", runId: "run_1", callId: "call_1", reference, error: thrown },
      });
    },
  );

  test("a call after which the handler cannot know its effect is not reported as failed", async () => {
    const log = memoryLog();
    const error = new OutcomeUnknownError("the bank closed the connection");
    const transfer = defineFunction({ ...base, handler: () => Promise.reject(error) });

    expect(await call(serviceOf(transfer), "probe", { id: "1" }, { log })).toEqual({
      ok: false,
      code: "outcome_unknown",
      message:
        "The function may have taken effect, and its outcome is not known. Do not call it again; check or report.",
    });
    expect(log.lines).toMatchObject([{ level: "error", fields: { error } }]);
  });

  test.each([{ effect: "read" as const }, { idempotent: true }])(
    "such a call of %o failed, and may be repeated",
    async (kind) => {
      const repeatable = defineFunction({
        ...base,
        ...kind,
        handler: () => Promise.reject(new OutcomeUnknownError("the connection ended")),
      });

      expect(await call(serviceOf(repeatable), "probe", { id: "1" })).toMatchObject({ code: "function_failed" });
    },
  );
});

describe("results", () => {
  const returning = (result: unknown, output?: z.ZodType) => {
    const log = memoryLog();
    const service = serviceOf(
      defineFunction({ ...base, ...(output === undefined ? {} : { output }), handler: () => result }),
    );
    return { log, outcome: call(service, "probe", { id: "1" }, { log }) };
  };

  test("undefined becomes null", async () => {
    expect(await returning(undefined).outcome).toEqual({ ok: true, value: null });
  });

  test("properties that the output schema does not list are removed", async () => {
    const user = z.object({ name: z.string(), cards: z.array(z.object({ last4: z.string() })) });
    const row = { name: "Mei", passwordHash: "x", cards: [{ last4: "1234", number: "4111" }] };

    expect(await returning(row, user).outcome).toEqual({
      ok: true,
      value: { name: "Mei", cards: [{ last4: "1234" }] },
    });
  });

  test("one that does not match the output schema is a failure with a reference", async () => {
    const { outcome, log } = returning({ name: 7 }, z.object({ name: z.string() }));

    expect(await outcome).toMatchObject({ code: "function_failed", message: expect.stringContaining("Reference: ") });
    expect(log.lines[0]).toMatchObject({
      message: "result does not match the output schema",
      fields: { faults: expect.stringContaining("name: ") },
    });
  });

  test("is a copy: later changes by the owner have no effect", async () => {
    const order = { status: "pending", items: [1] };
    const outcome = await returning(order).outcome;
    order.status = "cancelled";
    order.items.push(2);

    expect(outcome).toEqual({ ok: true, value: { status: "pending", items: [1] } });
  });

  test.each([
    [{ total: 1n }, "total is a bigint: return its text, for example with String(value)"],
    [{ rows: [new Map([["a", 1]])] }, "rows[0] is a Map"],
    [{ user: Promise.resolve(1) }, "user is a promise"],
    [() => 1, "the value is a function: call it, or leave it out"],
  ])("a value that is not JSON is a failure, and the log has its place", async (result, reason) => {
    const { outcome, log } = returning(result);

    expect(await outcome).toMatchObject({ code: "function_failed", message: expect.stringContaining("Reference: ") });
    expect(String(log.lines[0]?.fields["error"])).toContain(reason);
  });

  test("a result may have 256 KiB, and not one byte more", async () => {
    const fitting = "é".repeat((LIMITS.resultBytes - 2) / 2);

    expect(await returning(fitting).outcome).toMatchObject({ ok: true });
    expect(await returning(`${fitting}x`).outcome).toMatchObject({ ok: false, code: "result_too_large" });
  });
});

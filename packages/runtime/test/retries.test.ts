import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, DefinitionError, FunctionError, RetryableError } from "../src/index.ts";
import { invocationOf, memoryLog, serviceOf } from "./calls.ts";

const base = { name: "probe", description: "A function under test.", input: z.object({}), roles: "everyone" } as const;

/** The outcome of an attempt whose handler throws `error`. */
async function failing(error: unknown, { attempt = 1, ...retries }: Partial<Retried> = {}) {
  const handler = (): never => {
    throw error;
  };
  const definition = defineFunction({ ...base, effect: "read", retries: { max: 3, ...retries }, handler });
  const log = memoryLog();
  const invocation = { ...invocationOf("probe", {}), attempt };
  const outcome = await serviceOf(definition).invoke(invocation, { signal: new AbortController().signal, log });
  return { outcome, log };
}

interface Retried {
  attempt: number;
  on: (error: unknown) => boolean;
}

const retryAfterMsOf = async (...options: Parameters<typeof failing>) => {
  const { outcome } = await failing(...options);
  return outcome.ok ? undefined : outcome.retryAfterMs;
};

test.each([[{ effect: "write" as const }], [{ effect: "destructive" as const }], [{}]])(
  "retries of a function that may not run twice are refused: %j",
  (options) => {
    const define = () => defineFunction({ ...base, ...options, retries: { max: 2 }, handler: () => "done" });

    expect(define).toThrow(DefinitionError);
    expect(define).toThrow('Set effect: "read", or idempotent: true');
  },
);

test.each([
  [{ max: 1 }, "retries.max must be an integer from 2 to 10, got 1"],
  [{ max: 11 }, "got 11"],
  [{ max: 2.5 }, "got 2.5"],
  [null, "got undefined"],
  [{ max: 2, on: "busy" }, "retries.on must be a function"],
  [{ max: 2, delayMs: 5 }, "unknown option retries.delayMs"],
])("retries of %j are refused", (retries, message) => {
  const define = () => defineFunction({ ...base, idempotent: true, retries: retries as never, handler: () => "done" });

  expect(define).toThrow(message);
});

test("the manifest has the number of attempts and nothing else of the retries", () => {
  const retries = { max: 5, on: () => true };
  const { manifest } = defineFunction({ ...base, idempotent: true, retries, handler: () => "done" });

  expect(manifest.retries).toEqual({ max: 5 });
});

test("an error of the handler may be followed by another attempt, and stays in the owner's log", async () => {
  const { outcome, log } = await failing(new Error("connection pool is empty"), { attempt: 2 });

  expect(outcome).toMatchObject({
    code: "function_failed",
    message: expect.stringMatching(/^The function failed\. Ref/),
  });
  expect(log.lines).toMatchObject([{ level: "error", fields: { attempt: 2 } }]);
});

test("the pause grows with the attempt, and is random so that calls do not return together", async () => {
  const pauses = await Promise.all([1, 2, 3, 10].map((attempt) => retryAfterMsOf(new Error("busy"), { attempt })));

  expect(pauses[0]).toBeGreaterThanOrEqual(100);
  expect(pauses[0]).toBeLessThanOrEqual(200);
  expect(pauses[1]).toBeGreaterThanOrEqual(200);
  expect(pauses[2]).toBeGreaterThanOrEqual(400);
  expect(pauses[3]).toBeLessThanOrEqual(10_000);
  const firsts = await Promise.all(Array.from({ length: 20 }, () => retryAfterMsOf(new Error("busy"))));
  expect(new Set(firsts).size).toBeGreaterThan(1);
});

test("a RetryableError names the pause, whatever `on` decides", async () => {
  expect(await retryAfterMsOf(new RetryableError({ afterMs: 1_234 }), { on: () => false })).toBe(1_234);
  expect(await retryAfterMsOf(new RetryableError(), { on: () => false })).toBeGreaterThanOrEqual(100);
});

test("only errors that `on` accepts are retried", async () => {
  const on = (error: unknown) => error instanceof TypeError;

  expect(await retryAfterMsOf(new TypeError("reset"), { on })).toBeGreaterThanOrEqual(100);
  expect(await retryAfterMsOf(new RangeError("reset"), { on })).toBe(undefined);
});

test("an `on` that throws ends the call, and its error is logged", async () => {
  const { outcome, log } = await failing(new Error("reset"), {
    on: () => {
      throw new Error("no such property");
    },
  });

  expect(outcome).not.toHaveProperty("retryAfterMs");
  expect(log.lines.map(({ message }) => message)).toContain("retries.on failed, so the call is not tried again");
});

test("a FunctionError is an answer for the model, and is not retried", async () => {
  expect(await retryAfterMsOf(new FunctionError("The order is closed."), { on: () => true })).toBe(undefined);
  expect(await retryAfterMsOf(new FunctionError(""), { on: () => true })).toBe(undefined);
});

test("a refused call and a result that cannot be delivered are not retried", async () => {
  const retries = { max: 3 };
  const definition = defineFunction({
    ...base,
    input: z.object({ id: z.string() }),
    effect: "read",
    retries,
    authorize: ({ input }) => input.id !== "closed",
    handler: () => ({ big: 1n }),
  });
  const invoke = (args: object) =>
    serviceOf(definition).invoke(invocationOf("probe", args as never), {
      signal: new AbortController().signal,
      log: memoryLog(),
    });

  for (const args of [{}, { id: "closed" }, { id: "open" }]) {
    const outcome = await invoke(args);
    expect(outcome).toMatchObject({ ok: false });
    expect(outcome).not.toHaveProperty("retryAfterMs");
  }
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("a RetryableError after %d ms is refused", (afterMs) => {
  expect(() => new RetryableError({ afterMs })).toThrow(`0 or more, got ${afterMs}`);
});

import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineFunction, type Effect } from "../src/index.ts";
import { call, memoryLog, serviceOf } from "./calls.ts";

const base = { name: "slow", description: "Waits.", input: z.object({}), roles: "everyone" as const };

/** A handler that never returns by itself, and a promise for its start. */
function hanging(options: { timeoutMs?: number; effect?: Effect } = {}) {
  const begun = Promise.withResolvers<AbortSignal>();
  const service = serviceOf(
    defineFunction({
      ...base,
      ...options,
      handler(_, { signal }) {
        begun.resolve(signal);
        return new Promise<never>(() => {});
      },
    }),
  );
  return { service, begun: begun.promise };
}

describe("time", () => {
  test("the function's own timeout ends a call, also one that ignores its signal", async () => {
    const { service, begun } = hanging({ timeoutMs: 20 });

    expect(await call(service, "slow", {})).toEqual({
      ok: false,
      code: "timed_out",
      message: "Timed out before the function finished. It may have taken effect.",
    });
    expect((await begun).aborted).toBe(true);
  });

  test("the caller's time ends a call if it is shorter", async () => {
    const { service } = hanging();

    expect(await call(service, "slow", {}, { timeoutMs: 20 })).toMatchObject({ code: "timed_out" });
  });

  test("a read that timed out does not claim a possible effect", async () => {
    const { service } = hanging({ timeoutMs: 20, effect: "read" });

    expect(await call(service, "slow", {})).toMatchObject({
      message: "Timed out before the function finished.",
    });
  });

  test("a call without time left starts nothing", async () => {
    const handler = vi.fn();
    const service = serviceOf(defineFunction({ ...base, handler }));

    expect(await call(service, "slow", {}, { timeoutMs: 0 })).toEqual({
      ok: false,
      code: "timed_out",
      message: "Timed out before the function started.",
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test("an abort with a TimeoutError is timed_out", async () => {
    const { service, begun } = hanging();
    const controller = new AbortController();
    const outcome = call(service, "slow", {}, { signal: controller.signal });
    await begun;
    controller.abort(new DOMException("run deadline", "TimeoutError"));

    expect(await outcome).toMatchObject({ code: "timed_out" });
  });
});

describe("cancelling", () => {
  test("reaches the handler's signal and ends the call", async () => {
    const { service, begun } = hanging();
    const controller = new AbortController();
    const outcome = call(service, "slow", {}, { signal: controller.signal });
    const signal = await begun;
    controller.abort(new Error("the run was cancelled"));

    expect(await outcome).toMatchObject({ ok: false, code: "cancelled" });
    expect(signal.aborted).toBe(true);
  });

  test("an error that the abort causes in the handler does not become the outcome", async () => {
    const begun = Promise.withResolvers<void>();
    const service = serviceOf(
      defineFunction({
        ...base,
        async handler(_, { signal }) {
          const aborted = Promise.withResolvers<never>();
          signal.addEventListener("abort", () => aborted.reject(signal.reason));
          begun.resolve();
          return aborted.promise;
        },
      }),
    );
    const controller = new AbortController();
    const outcome = call(service, "slow", {}, { signal: controller.signal });
    await begun.promise;
    controller.abort();

    expect(await outcome).toMatchObject({ code: "cancelled" });
  });

  test("before the start or during authorize prevents the handler", async () => {
    const handler = vi.fn();
    const controller = new AbortController();
    const service = serviceOf(
      defineFunction({
        ...base,
        authorize() {
          controller.abort();
          return true;
        },
        handler,
      }),
    );

    const during = await call(service, "slow", {}, { signal: controller.signal });
    const after = await call(service, "slow", {}, { signal: controller.signal });

    const text = "The call was cancelled before the function started.";
    expect([during, after]).toMatchObject([
      { code: "cancelled", message: text },
      { code: "cancelled", message: text },
    ]);
    expect(handler).not.toHaveBeenCalled();
  });

  test("a failure after the end of the call is logged", async () => {
    const log = memoryLog();
    const begun = Promise.withResolvers<void>();
    const late = Promise.withResolvers<never>();
    const service = serviceOf(
      defineFunction({
        ...base,
        handler() {
          begun.resolve();
          return late.promise;
        },
      }),
    );
    const controller = new AbortController();
    const outcome = call(service, "slow", {}, { signal: controller.signal, log });
    await begun.promise;
    controller.abort();
    await outcome;
    late.reject(new Error("too late"));

    await vi.waitFor(() =>
      expect(log.lines).toContainEqual(
        expect.objectContaining({ message: "function failed after its call had ended" }),
      ),
    );
  });
});

test("an ended call has no listener on its signal", async () => {
  const { signal } = new AbortController();
  const removed = vi.spyOn(signal, "removeEventListener");
  const added = vi.spyOn(signal, "addEventListener");

  await call(serviceOf(defineFunction({ ...base, handler: () => 1 })), "slow", {}, { signal });

  expect(added).toHaveBeenCalledTimes(1);
  expect(removed).toHaveBeenCalledWith(...(added.mock.calls[0]?.slice(0, 2) ?? []));
});

test("an ended call has no timer", async () => {
  vi.useFakeTimers();
  try {
    await call(serviceOf(defineFunction({ ...base, handler: () => 1 })), "slow", {});

    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test("progress after the end is dropped although the handler still runs", async () => {
  const shown: unknown[] = [];
  const begun = Promise.withResolvers<(data: unknown) => void>();
  const service = serviceOf(
    defineFunction({
      ...base,
      handler(_, { progress }) {
        begun.resolve(progress);
        return new Promise<never>(() => {});
      },
    }),
  );
  const controller = new AbortController();
  const outcome = call(service, "slow", {}, { signal: controller.signal, onProgress: (data) => shown.push(data) });
  const progress = await begun.promise;
  progress(1);
  controller.abort();
  await outcome;
  progress(2);

  expect(shown).toEqual([1]);
});

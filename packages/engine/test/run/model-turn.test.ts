import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import {
  type ChosenModel,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type ModelTurn,
} from "../../src/ports/model-provider.ts";
import { type AttemptObserver, IDLE_MS, providerFailure, SILENT_MS, takeTurn } from "../../src/run/loop/model-turn.ts";

const request: ModelRequest = {
  model: "m",
  system: "",
  functions: [],
  messages: [],
  maxTokens: 100,
  toolChoice: "auto",
  threadId: "thread",
  cacheKey: "key",
};
const usage = { input: 10, cachedInput: 4, output: 2 };
const turn = (change: Partial<ModelTurn> = {}): ModelTurn => ({
  text: "Done.",
  thoughts: [],
  calls: [],
  stop: "stop",
  usage,
  model: "m",
  ...change,
});
const end = (change: Partial<ModelTurn> = {}): ModelEvent => ({ type: "end", turn: turn(change) });

type Attempt = (signal: AbortSignal) => AsyncIterable<ModelEvent>;

/** A provider that plays one of `attempts` after another, and what `takeTurn` reports about them. */
function provided(...attempts: Attempt[]) {
  const reports: string[] = [];
  const model: ChosenModel = {
    model: "m",
    cost: () => 0,
    provider: { name: "played", stream: (_, { signal }) => attempts.shift()!(signal) },
  };
  const observer: AttemptObserver = {
    text: (text) => reports.push(`shows ${text}`),
    thought: (text) => reports.push(`thinks ${text}`),
    reset: () => reports.push("reset"),
    discarded: ({ input }) => void reports.push(`discards ${input}`),
    cut: ({ uncountedBytes }) => void reports.push(`is cut after ${uncountedBytes}`),
    silent: () => reports.push("is silent"),
    succeeded: () => reports.push("succeeded"),
    failed: ({ kind }) => reports.push(kind),
    retry: async (code) => void reports.push(`retries after ${code}`),
  };
  const clock: Clock = { now: Date.now, sleep: async (ms) => void reports.push(`waits ${ms}`) };
  const { signal } = new AbortController();
  const take = (leftMs = 240_000) => takeTurn(model, request, { clock, remainingMs: () => leftMs, signal }, observer);
  return { take, reports, model };
}

async function* giving(...events: ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
}

async function* failing(error: ModelError, ...events: ModelEvent[]): AsyncGenerator<ModelEvent> {
  yield* events;
  throw error;
}

describe("a silent provider", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** Yields nothing until it is aborted. */
  async function* silent(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    yield end();
  }

  test("is aborted after the idle limit and asked again", async () => {
    const { take, reports } = provided(silent, () => giving(end()));

    const taken = take();
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    expect(reports).toEqual(["is silent"]);
    await vi.advanceTimersByTimeAsync(1);

    expect(await taken).toMatchObject({ text: "Done." });
    const retry = ["truncated", "retries after truncated", expect.stringMatching(/^waits/)];
    expect(reports).toEqual(["is silent", ...retry, "succeeded"]);
  });

  test("is charged for the part that it had sent", async () => {
    const { take, reports } = provided(
      async function* (signal) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        yield { type: "cut", counted: { ...usage, input: 90 }, uncountedBytes: 9 };
        throw signal.reason;
      },
      () => giving(end()),
    );

    const taken = take();
    await vi.advanceTimersByTimeAsync(IDLE_MS);

    expect(await taken).toMatchObject({ text: "Done." });
    expect(reports.slice(1, 3)).toEqual(["is cut after 9", "truncated"]);
  });

  test("is not aborted while it sends bytes that are not shown, and is reported once: its readers see nothing", async () => {
    const { take, reports } = provided(async function* () {
      for (let piece = 0; piece < 5; piece++) {
        await new Promise((resolve) => setTimeout(resolve, IDLE_MS - 1_000));
        yield { type: "deltas", deltas: [] };
      }
      yield end();
    });

    const taken = take();
    await vi.advanceTimersByTimeAsync(5 * IDLE_MS);

    expect(await taken).toMatchObject({ text: "Done." });
    expect(reports).toEqual(["is silent", "succeeded"]);
  });

  test("is reported after 10 s without text or thought, once for each silence", async () => {
    const { take, reports } = provided(async function* () {
      for (const text of ["One ", "two ", "three."]) {
        await new Promise((resolve) => setTimeout(resolve, text === "two " ? SILENT_MS - 1 : 3 * SILENT_MS));
        yield { type: "deltas", deltas: [{ type: text === "One " ? "thoughtDelta" : "textDelta", text }] };
      }
      yield end();
    });

    const taken = take();
    await vi.advanceTimersByTimeAsync(SILENT_MS - 1);
    expect(reports).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(reports).toEqual(["is silent"]);
    await vi.advanceTimersByTimeAsync(7 * SILENT_MS);

    expect(await taken).toMatchObject({ text: "Done." });
    expect(reports).toEqual(["is silent", "thinks One ", "shows two ", "is silent", "shows three.", "succeeded"]);
  });

  test("is not reported after its turn", async () => {
    const { take, reports } = provided(() => giving(end()));

    await take();
    await vi.advanceTimersByTimeAsync(2 * SILENT_MS);

    expect(reports).toEqual(["succeeded"]);
  });
});

describe("the wait that a provider asks for", () => {
  const limited = (seconds: number) => new ModelError("rate_limited", "slow down", { retryAfterMs: seconds * 1_000 });

  test("is kept when the run has enough time", async () => {
    const { take, reports } = provided(
      () => failing(limited(30)),
      () => giving(end()),
    );

    expect(await take()).toMatchObject({ text: "Done." });
    expect(reports).toContain("waits 30000");
  });

  test.each([
    [31, 240_000],
    [4_000_000, 240_000],
    [11, 20_000],
  ])("of %i s ends the attempts when %i ms are left", async (seconds, leftMs) => {
    const { take, reports } = provided(() => failing(limited(seconds)));

    await expect(take(leftMs)).rejects.toMatchObject({
      kind: "rate_limited",
      retryAfterMs: seconds * 1_000,
    });
    expect(reports).toEqual(["rate_limited"]);
  });
});

test("text of a failed attempt that was shown is withdrawn before the next attempt", async () => {
  const { take, reports } = provided(
    () => failing(new ModelError("network", "cut"), { type: "textDelta", text: "half" }),
    () => failing(new ModelError("network", "cut")),
    () => giving({ type: "textDelta", text: "Done." }, end()),
  );

  await take();

  expect(reports.filter((report) => !report.startsWith("waits"))).toEqual([
    "shows half",
    "reset",
    "network",
    "retries after network",
    "network",
    "retries after network",
    "shows Done.",
    "succeeded",
  ]);
});

describe("an answer without text", () => {
  test.each([
    ["nothing", { text: "" }],
    ["blanks", { text: " \n" }],
    ["a call that its wire could not read", { text: "", stop: "malformed" as const }],
  ])("is requested a second time, and the first attempt is charged: %s", async (_, empty) => {
    const { take, reports } = provided(
      () => giving(end({ ...empty, usage: { ...usage, input: 90 } })),
      () => giving(end()),
    );

    expect(await take()).toEqual(turn());
    expect(reports).toContain("discards 90");
  });

  test("is requested a second time after a failed attempt too", async () => {
    const { take, reports } = provided(
      () => failing(new ModelError("rate_limited", "slow down")),
      () => giving(end({ text: "" })),
      () => giving(end()),
    );

    expect(await take()).toMatchObject({ text: "Done." });
    expect(reports).toContain("retries after empty");
  });
});

test.each([
  [
    new ModelError("unknown_model", "answered 404"),
    "Provider played failed: it does not offer this model to the configured account (m)",
  ],
  [
    new ModelError("rate_limited", "slow down", { retryAfterMs: 30_500 }),
    "Provider played failed: it is limiting requests; try again later (it asks for 31 s)",
  ],
])("the error of a run that ends with $0.kind has the reason", (error, message) => {
  expect(providerFailure(provided().model, error)).toMatchObject({ code: "provider_error", message });
});

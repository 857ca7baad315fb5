import { describe, expect, test } from "vitest";
import { ModelError } from "../../src/ports/model-provider.ts";
import { RunFailure } from "../../src/run/run-failure.ts";
import { always, ask, type Behaviour, overloaded, untilMs } from "./ask-on-clock.ts";

const namesOf = ({ passed, model, fallback }: Awaited<ReturnType<typeof ask>>["state"]) => [
  passed.map((one) => one.model),
  model.model,
  fallback.map((one) => one.model),
];

describe("a run that has stored no turn", () => {
  test("fails after three attempts within moments", async () => {
    const { outcome, asked, times, live } = await ask({ a: always("overloaded") }, { stored: 0, random: 0.998 });

    expect(outcome).toMatchObject({ code: "provider_error", warnings: [] });
    expect(asked).toBe("aaa");
    expect(times("a")).toEqual([0, 499, 1_497]);
    expect(live).toEqual([]);
  });

  test("fails at once when its provider asks for a longer wait than 30 s", async () => {
    const { outcome, asked } = await ask({ a: always("rate_limited", { retryAfterMs: 31_000 }) }, { stored: 0 });

    expect(outcome).toMatchObject({
      code: "provider_error",
      message: "Provider played failed: it is limiting requests; try again later (it asks for 31 s)",
    });
    expect(asked).toBe("a");
  });

  test("shows and warns of a wait that its reader notices", async () => {
    const slow = overloaded({ retryAfterMs: 12_000 });
    const { outcome, live } = await ask({ a: untilMs(1, slow) }, { stored: 0 });

    expect(live).toEqual([{ type: "modelStatus", state: "retrying", attempt: 2, waitMs: 12_000 }]);
    expect(outcome.warnings).toEqual(["The model did not answer for 12 s: 1 request failed (HTTP 529)"]);
  });
});

describe("a run that has stored a turn", () => {
  test.each([8_000, 30_000, 55_000, 59_000])("survives an outage of %i ms", async (ms) => {
    const { outcome } = await ask({ a: untilMs(ms) }, { random: 0.5 });

    expect(outcome).toMatchObject({ text: "a answers." });
  });

  test.each([
    [0, [0, 0, 0, 500, 1_500, 3_500, 7_500, 15_000, 22_500, 30_000, 37_500, 45_000, 52_500, 60_000]],
    [1, [0, 500, 1_500, 2_500, 4_500, 8_500, 16_500, 31_500, 46_500, 60_000]],
  ])("asks again after pauses from 0.5 to 15 s for 60 s, with the random share %d", async (random, expected) => {
    const { outcome, times } = await ask({ a: always("overloaded") }, { random });

    expect(times("a")).toEqual(expected);
    expect(outcome).toMatchObject({ code: "provider_error" });
  });

  test("asks for half of the time that was left at the first failure when that is shorter", async () => {
    const { endedAt, times } = await ask({ a: always("network") }, { leftMs: 41_000, requestMs: 1_000 });

    // The first request failed with 40 s left; the last one began within the 20 s after it.
    expect([times("a").at(-1), endedAt]).toEqual([21_000, 22_000]);
  });

  test("asks no further when the window is shorter than the shortest pause", async () => {
    expect((await ask({ a: always("network") }, { leftMs: 900 })).asked).toBe("aaa");
  });

  test.each(["rate_limited", "overloaded", "network", "truncated", "server"] as const)(
    "repeats a request that failed with %s",
    async (kind) => {
      const { outcome } = await ask({ a: untilMs(20_000, new ModelError(kind, kind)) });

      expect(outcome).toMatchObject({ text: "a answers." });
    },
  );

  test.each(["quota", "authentication", "unknown_model", "bad_request", "context_window", "malformed"] as const)(
    "does not repeat a request that failed with %s",
    async (kind) => {
      const { outcome, asked } = await ask({ a: always(kind) });

      expect(outcome).toMatchObject({ code: "provider_error", warnings: [] });
      expect(asked).toBe("a");
    },
  );

  test("stops asking when the failure becomes one that does not pass", async () => {
    const behave: Behaviour = (at) => (at < 5_000 ? overloaded() : new ModelError("authentication", "401"));
    const { outcome, times } = await ask({ a: behave });

    expect(outcome).toMatchObject({ message: "Provider played failed: it refused the configured API key" });
    expect(times("a").filter((at) => at >= 5_000)).toHaveLength(1);
  });

  test("asks a second time for an empty answer, which ends the run when it stays empty", async () => {
    const behave: Behaviour = (at) => (at < 5_000 ? overloaded() : "is empty");
    const { outcome, times } = await ask({ a: behave });

    expect(outcome).toMatchObject({ text: "" });
    expect(times("a").filter((at) => at >= 5_000)).toHaveLength(2);
  });

  test("ends when its cost cap allows no further request", async () => {
    const { outcome, asked } = await ask({ a: always("overloaded") }, { maxCostMicros: 20 });

    expect(outcome).toMatchObject({ code: "budget_exceeded" });
    expect(asked).toBe("");
  });
});

describe("the wait that a provider asks for", () => {
  test("is kept between the requests of the back-off", async () => {
    const { times } = await ask({ a: untilMs(30_000, overloaded({ retryAfterMs: 9_000 })) });

    expect(times("a")).toEqual([0, 9_000, 18_000, 27_000, 36_000]);
  });

  test("of more than 30 s is kept when it ends within the window", async () => {
    const { outcome, times } = await ask({ a: untilMs(1, overloaded({ retryAfterMs: 45_000 })) });

    expect(times("a")).toEqual([0, 45_000]);
    expect(outcome).toMatchObject({ text: "a answers." });
  });

  test.each([
    [61_000, 240_000],
    [3_600_000, 240_000],
    [21_000, 40_000],
  ])("of %i ms ends the attempts when %i ms are left", async (retryAfterMs, leftMs) => {
    const { outcome, asked } = await ask({ a: always("rate_limited", { retryAfterMs }) }, { leftMs });

    expect(asked).toBe("a");
    const reason = `it is limiting requests; try again later (it asks for ${retryAfterMs / 1_000} s)`;
    expect(outcome).toMatchObject({ message: `Provider played failed: ${reason}`, warnings: [] });
  });

  test("of one model does not hold up the others", async () => {
    const behaviours = { a: always("rate_limited", { retryAfterMs: 40_000 }), b: untilMs(10_000) };
    const { outcome, asked } = await ask(behaviours);

    expect(outcome).toMatchObject({ text: "b answers." });
    expect(asked).toMatch(/^ab+$/);
  });
});

describe("the fallback list", () => {
  test("is asked whole after each pause, from its first model on", async () => {
    const { asked, outcome } = await ask({ a: untilMs(1_000), b: always("server"), c: always("network") });

    expect(asked).toBe("aaabbbcccabca");
    expect(outcome).toMatchObject({
      text: "a answers.",
      warnings: [
        "Model played/b failed (server): played/a answered instead",
        "Model played/c failed (network): played/a answered instead",
        "The models did not answer for 2 s: 12 requests failed (HTTP 529, server error, connection failed)",
      ],
    });
  });

  test("loses a model whose failure does not pass", async () => {
    const { asked } = await ask({ a: always("quota"), b: untilMs(1_000), c: always("authentication") });

    expect(asked).toBe("abbbcbb");
  });

  test("begins with the models that failed in an earlier turn", async () => {
    const { asked, state } = await ask({ a: untilMs(0), b: always("server"), c: untilMs(0) }, { current: 1 });
    expect(asked).toBe("bbbc");
    expect(namesOf(state)).toEqual([["a", "b"], "c", []]);

    const again = await ask({ a: untilMs(0), b: always("server") }, { current: 1 });
    expect(again.asked).toBe("bbba");
    expect(namesOf(again.state)).toEqual([[], "a", ["b"]]);
  });

  test("ends the run with the last reason of each model", async () => {
    const { outcome } = await ask({ a: always("overloaded"), b: always("server") });

    expect(outcome).toMatchObject({
      message:
        "Model played/a failed: it is overloaded; try again later. Model played/b failed: it had an internal error; try again later",
      warnings: ["The models did not answer for 60 s: 28 requests failed (overloaded, server error)"],
    });
  });
});

describe("what readers learn", () => {
  test("is each pause with the number of the request after it", async () => {
    const { live } = await ask({ a: untilMs(1_000) }, { random: 0.5 });

    expect(live).toEqual([
      { type: "modelStatus", state: "retrying", attempt: 2, waitMs: 250 },
      { type: "modelStatus", state: "retrying", attempt: 3, waitMs: 500 },
      { type: "modelStatus", state: "retrying", attempt: 4, waitMs: 750 },
    ]);
  });

  test("is in the warnings of the answer, with the time and the reasons", async () => {
    const { outcome } = await ask({ a: untilMs(8_000) }, { random: 0.5 });

    expect(outcome.warnings).toEqual(["The model did not answer for 12 s: 6 requests failed (HTTP 529)"]);
  });

  test("is in the warnings of a failed run", async () => {
    const { outcome } = await ask({ a: always("network") });

    expect(outcome).toMatchObject({
      message: "Provider played failed: the connection could not be made, or was lost in its answer",
      warnings: ["The model did not answer for 60 s: 14 requests failed (connection failed)"],
    });
  });

  test("gives no warning when one of the first three attempts succeeds", async () => {
    const { outcome } = await ask({ a: untilMs(400) }, { random: 0.9 });

    expect(outcome).toEqual({ text: "a answers.", warnings: [] });
  });
});

test("a run that is cancelled while it waits for its models ends at once, with the warning", async () => {
  let pauses = 0;
  const { outcome, asked } = await ask(
    { a: always("overloaded") },
    {
      onPause: (abort) => {
        if (++pauses === 6) abort.abort(new RunFailure("cancelled", "Run cancelled"));
      },
    },
  );

  expect(asked).toBe("aaaaaa");
  expect(outcome).toEqual({
    code: "cancelled",
    message: "Run cancelled",
    warnings: ["The model did not answer for 8 s: 6 requests failed (overloaded)"],
  });
});

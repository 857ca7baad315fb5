import { expect, test } from "vitest";
import { scriptFor, startStandIn, type ScriptedTurn, type Wire } from "@patchbay/test-support/providers";
import {
  ModelError,
  type ModelEvent,
  type ModelProvider,
  type ModelRequest,
  type ModelTurn,
  type TokenUsage,
} from "@patchbay/engine/ports/model-provider";
import type { WireTraits } from "./drive.ts";
import { asking, essence, eventsOf, providerOf, streamed, turnOf } from "./drive.ts";

const TURN: ScriptedTurn = {
  thoughts: ["Zürich → 東京 👩‍🚀"],
  text: "Ein Moment…",
  calls: [{ name: "orders.find", arguments: { id: "é👋", limit: 12345 } }, { name: "ping" }],
};
const CUTS = 30;
const TEXT = "Zürich → 東京. ".repeat(50);
/** Usage that a wire reports before its terminal event. */
const COUNTED_AHEAD: Partial<Record<Wire, Partial<TokenUsage>>> = {
  anthropic: { input: 120, cachedInput: 40, output: 1 },
  // Its thoughts.
  gemini: { input: 120, cachedInput: 40, output: 10, reasoning: 10 },
};
const NOTHING: TokenUsage = { input: 0, cachedInput: 0, cacheWriteInput: 0, output: 0 };

/** Streams that are split, cut, broken or abandoned. */
export function streamContract({ wire, model }: WireTraits): void {
  test("the bytes may be split anywhere", async () => {
    const sizes = [Number.MAX_SAFE_INTEGER, 1, 2, 3, 5, 16, 61];
    await using standIn = await startStandIn(wire, (_request, turn) => ({ ...TURN, splitBytes: sizes[turn - 1] ?? 1 }));
    const provider = providerOf(standIn);

    const turns: ModelTurn[] = [];
    for (const _size of sizes) turns.push(await turnOf(provider, asking(model)));

    const [whole, ...split] = turns.map(essence);
    expect(whole?.calls).toEqual([
      ["orders.find", '{"id":"é👋","limit":12345}'],
      ["ping", ""],
    ]);
    for (const turn of split) expect(turn).toEqual(whole);
  });

  test.each([
    ["broken off", false],
    ["ended", true],
  ])("a stream that is %s anywhere gives a whole turn or an error, never a part", async (_name, cutCleanly) => {
    let cutAfterBytes: number | undefined;
    await using standIn = await startStandIn(wire, () =>
      cutAfterBytes === undefined ? TURN : { ...TURN, cutAfterBytes, cutCleanly },
    );
    const provider = providerOf(standIn);
    const whole = await turnOf(provider, asking(model));
    const size = standIn.requests[0]?.answerBytes ?? 0;

    for (let cut = 0; cut < CUTS; cut++) {
      cutAfterBytes = Math.floor((cut * size) / CUTS);
      const outcome = await turnOf(provider, asking(model)).catch((error: unknown) => error);
      if (outcome instanceof ModelError) {
        expect(["truncated", "network"]).toContain(outcome.kind);
        expect(outcome.retryable).toBe(true);
      } else {
        const { usage: _later, ...same } = essence(whole);
        expect(essence(outcome as ModelTurn)).toMatchObject(same);
      }
    }
  });

  test("a stream that ends before its terminal event is truncated", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ ...TURN, cutAfterBytes: 300, cutCleanly: true }));

    await expect(turnOf(providerOf(standIn), asking(model))).rejects.toMatchObject({ kind: "truncated" });
  });

  test("an error during a stream fails the turn, whatever preceded it", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ ...TURN, midStreamError: {} }));

    const outcome = await eventsOf(providerOf(standIn), asking(model)).catch((error: unknown) => error);

    expect(outcome).toBeInstanceOf(ModelError);
    expect(outcome).toMatchObject({ retryable: true });
  });

  test.each<[string, ScriptedTurn]>([
    ["ended by an error", { midStreamError: {} }],
    ["broken off", { cutAfterBytes: 4_000 }],
    ["ended early", { cutAfterBytes: 4_000, cutCleanly: true }],
  ])("an answer that is %s reports its usage", async (_name, ending) => {
    await using standIn = await startStandIn(wire, scriptFor({ text: TEXT, usage: { reasoning: 10 }, ...ending }));

    const { events, error } = await attempt(providerOf(standIn), asking(model));

    expect(error).toBeInstanceOf(ModelError);
    expect(events.at(-1)).toEqual({
      type: "cut",
      counted: { ...NOTHING, ...COUNTED_AHEAD[wire] },
      uncountedBytes: shownBytes(events),
    });
    expect(shownBytes(events)).toBeGreaterThan(0);
  });

  test("an aborted answer reports its usage", async () => {
    await using standIn = await startStandIn(
      wire,
      scriptFor({ text: TEXT, usage: { reasoning: 10 }, stallAfterBytes: 4_000 }),
    );
    const caller = new AbortController();
    const reason = new Error("cancelled");

    const { events, error } = await attempt(providerOf(standIn), asking(model), caller.signal, () =>
      caller.abort(reason),
    );

    expect(error).toBe(reason);
    expect(events.at(-1)).toMatchObject({
      type: "cut",
      counted: { ...NOTHING, ...COUNTED_AHEAD[wire] },
      uncountedBytes: shownBytes(events),
    });
    expect(shownBytes(events)).toBeGreaterThan(0);
  });

  test("an abort before the request sends none", async () => {
    await using standIn = await startStandIn(wire, scriptFor({ text: "ok" }));
    const reason = new Error("cancelled");

    const outcome = eventsOf(providerOf(standIn), asking(model), AbortSignal.abort(reason));

    await expect(outcome).rejects.toBe(reason);
    expect(standIn.requests).toHaveLength(0);
  });

  test("an abort before the first byte ends the request", async () => {
    const { promise: never, resolve } = Promise.withResolvers<ScriptedTurn>();
    await using standIn = await startStandIn(wire, () => never);
    const caller = new AbortController();
    const reason = new Error("cancelled");
    const outcome = eventsOf(providerOf(standIn), asking(model), caller.signal);
    const settled = expect(outcome).rejects.toBe(reason);

    await standIn.received(1);
    caller.abort(reason);

    await settled;
    resolve({ text: "too late" });
    await standIn.requests[0]?.closed;
  });

  test("an abort during a stream ends the turn with its reason, and closes the connection", async () => {
    await using standIn = await startStandIn(
      wire,
      scriptFor({ text: "A long answer. ".repeat(50), stallAfterBytes: 2500 }),
    );
    const caller = new AbortController();
    const reason = new Error("cancelled");

    const outcome = (async () => {
      for await (const event of streamed(providerOf(standIn), asking(model), caller.signal))
        if (event.type === "textDelta") setImmediate(() => caller.abort(reason));
    })();

    await expect(outcome).rejects.toBe(reason);
    await standIn.requests[0]?.closed;
  });

  test("a consumer that stops during a stream closes the connection", async () => {
    await using standIn = await startStandIn(
      wire,
      scriptFor({ text: "A long answer. ".repeat(50), stallAfterBytes: 2500 }),
    );
    const { signal } = new AbortController();

    for await (const event of streamed(providerOf(standIn), asking(model), signal))
      if (event.type === "textDelta") break;

    await standIn.requests[0]?.closed;
    expect(standIn.requests).toHaveLength(1);
  });
}

/** The events of an attempt that ends without its turn, and why it did. */
async function attempt(
  provider: ModelProvider,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
  onText: () => void = () => {},
): Promise<{ events: ModelEvent[]; error: unknown }> {
  const events: ModelEvent[] = [];
  try {
    for await (const event of streamed(provider, request, signal)) {
      events.push(event);
      if (event.type === "textDelta") onText();
    }
  } catch (error) {
    return { events, error };
  }
  throw new Error("the attempt gave a turn");
}

const shownBytes = (events: readonly ModelEvent[]): number =>
  events.reduce((sum, event) => sum + (event.type === "textDelta" ? Buffer.byteLength(event.text) : 0), 0);

import { ModelError, type ModelProvider, type ModelRequest } from "@patchbay/engine/ports/model-provider";
import { createRandom, type Random } from "@patchbay/test-support/random";
import type { Plan } from "./plan.ts";
import { DETACHED, FUNCTIONS } from "./service.ts";
import { forever, type Process, type World } from "@patchbay/test-support/world";

/** What the provider does wrong. */
export interface ProviderWeather {
  /** Attempts fail until this time. */
  awayUntil: number;
  /** The share of attempts that fail, fall silent or are cut. */
  trouble: number;
}

/** One request to the provider. */
export interface Asked {
  query: string;
  at: number;
  process: Process;
}

/** The query whose model turns kill the process that works on it. */
export const POISON = "Poison";

const KINDS = ["overloaded", "rate_limited", "network", "server"] as const;

/** The turns that the model takes for a query: calls, then a text. */
function turnsOf({ seed, detached }: Plan, query: string) {
  const number = Number(/\d+/.exec(query)?.[0] ?? 0);
  const random = createRandom(seed, 1_000 + number);
  const apart = createRandom(seed, 2_000 + number);
  return Array.from({ length: random.below(4) }, (_, turn) =>
    Array.from({ length: 1 + random.below(random.chance(0.2) ? 4 : 2) }, (_, position) => {
      const name = random.pick(FUNCTIONS);
      const item = `${query} ${turn} ${position}`;
      const amount = random.below(20);
      const ms = random.chance(0.1) ? random.between(2_000, 20_000) : random.between(1, 400);
      const call =
        detached && apart.chance(detached.share)
          ? { name: apart.pick(DETACHED), ms: apart.between(detached.leastMs, detached.mostMs) }
          : { name, ms };
      return {
        id: `call-${turn}-${position}`,
        name: call.name,
        arguments: JSON.stringify({ item, amount, ms: call.ms }),
      };
    }),
  );
}

/** A provider whose answers a seed determines. */
export function createModel(
  world: World,
  { plan, weather, asked }: { plan: Plan; weather: ProviderWeather; asked: Asked[] },
): ModelProvider {
  const { random } = world;
  return {
    name: "simulated",
    async *stream(request, { signal }) {
      const { process } = world;
      const { query, turn } = placeIn(request);
      world.note(`model ${query} ${turn}`);
      // Timers of a killed process still fire.
      if (process.alive) asked.push({ query, at: world.now, process });
      await passOr(random.between(20, 1_500), signal);
      if (query === POISON) {
        process.kill();
        await forever();
      }
      yield* trouble(signal);
      const calls = turnsOf(plan, query)[turn] ?? [];
      const offered = calls.filter(({ name }) => request.functions.some((one) => one.name === name));
      const text = calls.length > 0 ? "" : `Done with ${query}.`;
      for (const word of text.split(/(?<= )/)) if (word !== "") yield { type: "textDelta", text: word };
      await passOr(random.between(1, 300), signal);
      const usage = { input: 100 + random.below(400), cachedInput: 0, output: 10 + random.below(200) };
      const stop = offered.length > 0 ? "calls" : "stop";
      const answer = text === "" && offered.length === 0 ? "None of these functions exists." : text;
      yield { type: "end", turn: { text: answer, thoughts: [], calls: offered, stop, usage, model: request.model } };
    },
  };

  async function* trouble(signal: AbortSignal) {
    if (world.now < weather.awayUntil) throw failure(random);
    if (!random.chance(weather.trouble)) return;
    const kind = random.below(3);
    if (kind === 0) throw failure(random);
    if (kind === 1) await passOr(600_000, signal);
    yield { type: "textDelta", text: "I " } as const;
    yield { type: "cut", counted: { input: 100, cachedInput: 0, output: 1 }, uncountedBytes: 2 } as const;
    throw new ModelError("truncated", "The stream ended early.");
  }

  /** Ends early with the signal's reason. */
  function passOr(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      void world.pass(ms).then(resolve);
    });
  }
}

function failure(random: Random): ModelError {
  const retryAfterMs = random.chance(0.3) ? random.between(100, 8_000) : undefined;
  return new ModelError(random.pick(KINDS), "The provider failed.", { ...(retryAfterMs && { retryAfterMs }) });
}

/** The last query in the request, and how many of its turns have passed. */
function placeIn({ messages }: ModelRequest): { query: string; turn: number } {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const message = messages[at];
  const text = message?.role === "user" ? message.text : "";
  const query = text.includes(POISON) ? POISON : (/Query \d+/.exec(text)?.[0] ?? "Query 0");
  return { query, turn: messages.slice(at).filter(({ role }) => role === "assistant").length };
}

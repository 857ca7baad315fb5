import { defineFunction, defineService, everyone } from "@patchbay/functions";
import type { FallbackModel } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { startStandIn, WIRES, type RequestSummary, type Script, type Wire } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const PROVIDER = {
  anthropic: "anthropic",
  "openai-responses": "openai",
  "openai-chat": "openai",
  gemini: "gemini",
} as const;
/** The default model of each wire, and one that thinks or signs in another way. */
const DEFAULT_MODEL: Record<Wire, string> = {
  anthropic: "claude-sonnet-5-5",
  "openai-responses": "gpt-6.1-terra",
  "openai-chat": "gpt-4.1-mini",
  gemini: "gemini-3.8-flash",
};
const SPARE_MODEL: Record<Wire, string> = {
  anthropic: "claude-haiku-4-5",
  "openai-responses": "gpt-6-sol",
  "openai-chat": "gpt-4.1",
  gemini: "gemini-4-argon",
};

/** Pairs of a wire and its fallback: another provider, or another model of the same one. */
const PAIRS = WIRES.flatMap((first) =>
  WIRES.filter((second) => first === second || PROVIDER[first] !== PROVIDER[second]).map((second) => ({
    first,
    second,
  })),
);

interface Part {
  request: RequestSummary;
  /** Number of requests to this model, including this one. */
  asked: number;
}
type Model = (part: Part) => ReturnType<Script>;

/** Starts a service whose agent uses the second model when the first one fails. */
async function startWithService(
  { first, second }: { first: Wire; second: Wire },
  models: { first: Model; second: Model },
) {
  const asked = { first: 0, second: 0 };
  const script: Script = (request) => {
    const which = request.model === SPARE_MODEL[second] ? "second" : "first";
    asked[which]++;
    return models[which]({ request, asked: asked[which] });
  };
  const standIns = await Promise.all([...new Set([first, second])].map((wire) => startStandIn(wire, script)));
  const ran: string[] = [];
  const book = defineFunction({
    name: "book",
    description: "Books a seat.",
    input: z.object({ seat: z.string() }),
    roles: everyone,
    effect: "write",
    handler({ seat }) {
      ran.push(seat);
      return { booked: seat };
    },
  });
  const system = await startSystem({
    service: defineService({ name: "desk", functions: [book] }),
    providers: {
      ...Object.assign({}, ...standIns.map(({ config }) => config)),
      default: { provider: PROVIDER[first] },
    },
  });
  const fallback: FallbackModel[] = [{ provider: PROVIDER[second], model: SPARE_MODEL[second] }];
  await system.plane.admin.updateAgent(system.agentId, { settings: { fallback } });
  return {
    system,
    asked,
    ran,
    refusals: () => standIns.flatMap(({ requests }) => requests.flatMap(({ refusal }) => refusal ?? [])),
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await Promise.all(standIns.map((standIn) => standIn[Symbol.asyncDispose]()));
    },
  };
}

const books = (seat: string) => ({ name: "book", arguments: { seat } });
const nameOf = (wire: Wire, models: Record<Wire, string>): string => `${PROVIDER[wire]}/${models[wire]}`;

const warning = ({ first, second }: { first: Wire; second: Wire }, kind: string): string =>
  `Model ${nameOf(first, DEFAULT_MODEL)} failed (${kind}): ${nameOf(second, SPARE_MODEL)} answered instead`;

test.each(PAIRS)(
  "after a function call $second continues when $first fails, and the thread stays usable",
  async (pair) => {
    await using desk = await startWithService(pair, {
      first({ request: { query, step } }) {
        if (query.endsWith("And now?")) return { text: "Both are booked." };
        if (step > 0) return { error: { status: 401 } };
        return { thoughts: ["The window first."], text: "One moment.", calls: [books("1A"), books("1B")] };
      },
      second({ request: { results }, asked }) {
        if (asked === 1) return { thoughts: ["One more."], calls: [books("2A")] };
        return { thoughts: ["That is all."], text: `Done after ${results.length} result.` };
      },
    });

    const answer = await desk.system.query("Book two seats at the window");
    const next = await desk.system.query("And now?", { threadId: answer.threadId });

    expect(desk.refusals()).toEqual([]);
    expect(answer).toMatchObject({
      success: true,
      response: "Done after 1 result.",
      warnings: [warning(pair, "authentication")],
    });
    expect(answer.toolInteractions.map(({ parameters, success }) => [parameters, success])).toEqual([
      [{ seat: "1A" }, true],
      [{ seat: "1B" }, true],
      [{ seat: "2A" }, true],
    ]);
    expect(desk.ran.toSorted()).toEqual(["1A", "1B", "2A"]);
    expect(next).toMatchObject({ success: true, response: "Both are booked." });
    expect(next).not.toHaveProperty("warnings");
    expect(desk.asked).toEqual({ first: 3, second: 2 });
  },
);

const NEXT: Record<Wire, Wire> = {
  anthropic: "gemini",
  "openai-responses": "anthropic",
  "openai-chat": "gemini",
  gemini: "openai-responses",
};

test.each(WIRES)("another model answers when three attempts on the wire %s have failed", async (first) => {
  const pair = { first, second: NEXT[first] };
  await using desk = await startWithService(pair, {
    first: () => ({ text: "Half of an answer.", midStreamError: { code: "overloaded_error", message: "overloaded" } }),
    second: () => ({ text: "Done." }),
  });

  const { events } = await desk.system.stream("Book a seat", { includeDeltas: true });

  expect(desk.asked).toEqual({ first: 3, second: 1 });
  const shown = events.map(({ data }) => data);
  const types: unknown[] = shown.map(({ type }) => type);
  expect(types.filter((type) => type === "deltaReset")).toHaveLength(3);
  expect(types.at(-1)).toBe("finalResponse");
  const after = shown.slice(types.lastIndexOf("deltaReset") + 1);
  expect(after).toMatchObject([
    { type: "responseDelta", content: "Done." },
    { response: "Done.", warnings: [expect.any(String)] },
  ]);
});

test("a query can disable its agent's list of fallbacks", async () => {
  const pair = { first: "anthropic", second: "gemini" } as const;
  await using desk = await startWithService(pair, {
    first: () => ({ error: { status: 401 } }),
    second: () => ({ text: "Done." }),
  });

  const llmConfig = { provider: "anthropic", fallback: false };
  expect(await desk.system.query("Book a seat", { llmConfig })).toMatchObject({ code: "provider_error" });
  expect(desk.asked).toEqual({ first: 1, second: 0 });
});

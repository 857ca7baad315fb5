import { describe, expect, test } from "vitest";
import type { Message } from "@patchbay/engine/ports/model-provider";
import * as fc from "@patchbay/test-support/properties";
import { anthropicRequest } from "../src/anthropic.ts";
import { geminiRequest } from "../src/gemini.ts";
import { chatRequest } from "../src/openai-chat.ts";
import { responsesRequest } from "../src/openai-responses.ts";
import { asking } from "./drive.ts";
import { GOOD, GOOD_END, read, WIRE_NAMES, type WireName } from "./wire-streams.ts";

interface Sent {
  calls: (string | undefined)[];
  results: (string | undefined)[];
}

/** The ids of a request's calls and results, in order. */
const SENT: Record<WireName, (messages: readonly Message[]) => Sent> = {
  anthropic(messages) {
    const { body } = anthropicRequest(asking("m", { messages }));
    const blocks = (body["messages"] as { content: Record<string, string>[] }[]).flatMap(({ content }) => content);
    return {
      calls: blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id),
      results: blocks.filter(({ type }) => type === "tool_result").map((block) => block["tool_use_id"]),
    };
  },
  "openai-chat"(messages) {
    const { body } = chatRequest(asking("m", { messages }));
    const list = body["messages"] as { tool_calls?: { id: string }[]; tool_call_id?: string; role: string }[];
    return {
      calls: list.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id)),
      results: list.filter(({ role }) => role === "tool").map((one) => one.tool_call_id),
    };
  },
  "openai-responses"(messages) {
    const items = responsesRequest(asking("m", { messages })).body["input"] as { type?: string; call_id?: string }[];
    const ids = (wanted: string) => items.filter(({ type }) => type === wanted).map((item) => item.call_id);
    return { calls: ids("function_call"), results: ids("function_call_output") };
  },
  gemini(messages) {
    const { contents } = geminiRequest(asking("m", { messages })).body;
    const parts = contents.flatMap((content) => content.parts) as Record<string, { id?: string } | undefined>[];
    const ids = (name: string) => parts.flatMap((part) => (part[name] ? [part[name].id] : []));
    return { calls: ids("functionCall"), results: ids("functionResponse") };
  },
};

const VALID: Record<WireName, RegExp> = {
  anthropic: /^[a-zA-Z0-9_-]+$/,
  "openai-chat": /^.{1,40}$/,
  "openai-responses": /^.{1,64}$/,
  gemini: /^.{1,64}$/,
};

const LONG = `call_9f__thought__${"A".repeat(900)}`;
const id = fc.constantFrom("functions.weather:0", "call_0", "", LONG, "toolu_1", "é 💡", "__proto__", "a/b");

/** A turn with calls and their results. `wire`: whose stream it is. */
const step = (wire: WireName | "elsewhere", ids: readonly string[]): Message[] => {
  const calls = ids.map((one) => ({ id: one, name: "ping", text: '{"id":"call_0"}' }));
  const source = wire === "elsewhere" ? "openai-chat" : wire;
  const { turn } = read(source, GOOD[source]("Looking.", calls, GOOD_END[source]));
  const { text, echo } = turn!;
  const kept = wire === "elsewhere" ? { provider: "elsewhere", model: "other", blocks: [] } : echo;
  return [
    { role: "assistant", text, calls: turn!.calls, ...(kept && { echo: kept }) },
    {
      role: "results",
      results: turn!.calls.map((call) => ({ callId: call.id, name: "ping", content: "{}", isError: false })),
    },
  ];
};

/** A conversation with turns of all wires, with and without their echoes, as threads and fallbacks have them. */
const conversation = fc
  .array(
    fc.tuple(
      fc.constantFrom(...WIRE_NAMES, "elsewhere" as const),
      fc.array(id, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((turns) =>
    turns.flatMap(([wire, ids, forgets]): Message[] => [
      { role: "user", text: "go" },
      ...step(wire, ids).map((message) => {
        if (!forgets || message.role !== "assistant") return message;
        const { echo: _, ...plain } = message;
        return plain;
      }),
    ]),
  );

describe.each(WIRE_NAMES)("%s", (wire) => {
  test("calls and results of any conversation have equal, valid and distinct ids", () => {
    const holds = (messages: Message[]) => {
      const { calls, results } = SENT[wire](messages);
      const given = calls.filter((one) => one !== undefined);

      expect(results).toEqual(calls);
      expect(calls).toHaveLength(messages.flatMap((one) => (one.role === "assistant" ? one.calls : [])).length);
      expect(new Set(given).size).toBe(given.length);
      if (wire !== "gemini") expect(given).toHaveLength(calls.length);
    };
    fc.assert(fc.property(conversation, holds));
  });

  test("an id of another model is replaced by one that the wire accepts, and that stays the same", () => {
    const holds = (ids: string[]) => {
      const first = step("elsewhere", ids);
      const { calls } = SENT[wire](first);
      const later = SENT[wire]([...first, { role: "user", text: "sure?" }, ...step("elsewhere", ["functions.ping:0"])]);

      for (const one of calls) if (one !== undefined) expect(one).toMatch(VALID[wire]);
      for (const one of calls) expect(ids).not.toContain(one);
      expect(later.calls.slice(0, ids.length)).toEqual(calls);
    };
    fc.assert(fc.property(fc.array(id, { minLength: 1, maxLength: 5 }), holds));
  });

  test("an id that the same wire and model gave is sent back unchanged", () => {
    const messages = step(wire, ["functions.weather:0", LONG]);

    expect(SENT[wire](messages)).toEqual({
      calls: ["functions.weather:0", LONG],
      results: ["functions.weather:0", LONG],
    });
  });

  test("an id that the model gives again in a later turn is replaced there, in the echo, too", () => {
    const messages = [...step(wire, ["call_0"]), ...step(wire, ["call_0"])];

    const { calls, results } = SENT[wire](messages);

    expect(results).toEqual(calls);
    expect(calls[0]).toBe("call_0");
    expect(calls[1]).toMatch(/^[a-z0-9]{9}$/);
  });

  test.each([
    ["equal", ["toolu_1", "toolu_1", "toolu_1"]],
    ["empty", ["", "", ""]],
    ["mixed", ["a", "", "a"]],
  ])("calls of one turn with %s ids have ids of their own", (_, ids) => {
    const calls = ids.map((one) => ({ id: one, name: "ping", text: '{"id":"1"}' }));

    const { turn } = read(wire, GOOD[wire]("", calls, GOOD_END[wire]));

    const given = turn!.calls.map((call) => call.id);
    expect(new Set(given).size).toBe(3);
    for (const one of given) expect(one).toMatch(/^[a-zA-Z0-9_-]{1,40}$/);
  });
});

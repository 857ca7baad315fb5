import { expect, test } from "vitest";
import * as fc from "@patchbay/test-support/properties";
import { essence, GOOD, GOOD_END, type GoodCall, pieces, read, type WireName } from "./wire-streams.ts";

/** A turn as the model meant it, and where its texts are cut. */
interface Meant {
  text: string;
  calls: GoodCall[];
  cuts: number[];
}

const args = fc.record({ text: fc.constantFrom("Rome", "a}{b", '"', "}", "{"), deep: fc.jsonValue({ maxDepth: 2 }) });
/** Arguments differ, because a server that repeats a call and a model that makes it twice look alike. */
const meant: fc.Arbitrary<Meant> = fc.record({
  text: fc.constantFrom("", "Looking."),
  cuts: fc.array(fc.nat({ max: 40 }), { maxLength: 4 }),
  calls: fc
    .array(fc.tuple(fc.constantFrom("ping", "orders_find"), args), { minLength: 1, maxLength: 4 })
    .map((calls) =>
      calls.map(([name, value], n) => ({ id: `call_${n}`, name, text: JSON.stringify({ n, ...value }) })),
    ),
});

/** The first of each list, then the second of each. */
const alternated = <Item>(lists: Item[][]): Item[] =>
  Array.from({ length: Math.max(...lists.map((list) => list.length)) }, (_, at) =>
    lists.flatMap((list) => list.slice(at, at + 1)),
  ).flat();

const INDEXES = ["real", "absent", "null", "zero"] as const;
const IDS = ["real", "absent", "equal", "late", "changing"] as const;
const indexOf = (kind: (typeof INDEXES)[number], index: number) =>
  kind === "real" ? { index } : kind === "null" ? { index: null } : kind === "zero" ? { index: 0 } : {};

function idOf(kind: (typeof IDS)[number], id: string, piece: number, isLast: boolean) {
  if (kind === "absent") return {};
  if (kind === "equal") return piece === 0 ? { id: "call_x" } : {};
  if (kind === "late") return isLast ? { id } : {};
  if (kind === "changing") return { id: `${id}_${piece}` };
  return { id };
}

const whole = (wire: WireName, { text, calls }: Meant) => essence(wire, GOOD[wire](text, calls, GOOD_END[wire]));

const CHAT_FORMS = fc.record({
  index: fc.constantFrom(...INDEXES),
  id: fc.constantFrom(...IDS),
  begin: fc.constantFrom("name first", "with arguments", "as a value"),
  repeatsName: fc.boolean(),
  end: fc.constantFrom("plain", "repeats names", "repeats calls"),
  list: fc.boolean(),
  /** Pieces of several calls alternate; all have their ids. */
  alternates: fc.boolean(),
  /** The repetition comes before the chunk that ends the turn; all calls have their ids. */
  early: fc.boolean(),
});

test("calls of a Chat Completions server are joined, whatever it leaves out or repeats", () => {
  const holds = (turn: Meant, form: typeof CHAT_FORMS extends fc.Arbitrary<infer Form> ? Form : never) => {
    const asValue = form.begin === "as a value";
    const deltas = turn.calls.map(({ id = "", name, text }, index) => {
      const parts = asValue ? [JSON.parse(text) as object] : pieces(text, turn.cuts);
      const list = form.begin === "name first" ? ["", ...parts] : parts;
      return list.map((part, i) => ({
        ...indexOf(form.index, index),
        ...idOf(form.id, id, i, i === list.length - 1),
        function: { ...((i === 0 || (form.repeatsName && form.id !== "changing")) && { name }), arguments: part },
      }));
    });
    const again = deltas.map(([first], i) => ({
      ...first,
      function: { name: turn.calls[i]!.name, arguments: form.end === "repeats calls" ? turn.calls[i]!.text : "" },
    }));
    const isEarly = form.early && form.id === "real" && form.end !== "plain";
    const content = form.list ? [{ type: "text", text: turn.text }] : turn.text;
    const events = [
      { choices: [{ delta: { content } }] },
      ...(form.alternates && form.id === "real" ? alternated(deltas) : deltas.flat()).map((delta) => ({
        choices: [{ delta: { tool_calls: [delta] } }],
      })),
      ...(isEarly ? [{ choices: [{ delta: { tool_calls: again } }] }] : []),
      {
        choices: [{ delta: form.end === "plain" || isEarly ? {} : { tool_calls: again }, finish_reason: "tool_calls" }],
      },
      { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
    ];
    expect(essence("openai-chat", events)).toEqual(whole("openai-chat", turn));
  };
  fc.assert(fc.property(meant, CHAT_FORMS, holds), { numRuns: 1_000 });
});

const CLAUDE_FORMS = fc.record({
  index: fc.constantFrom(...INDEXES),
  id: fc.constantFrom("real", "absent", "equal"),
  input: fc.constantFrom("pieces", "value", "text"),
});

test("blocks of a Messages server are joined, whatever it leaves out or repeats", () => {
  const holds = (turn: Meant, form: typeof CLAUDE_FORMS extends fc.Arbitrary<infer Form> ? Form : never) => {
    const blocks = [
      ...(turn.text === ""
        ? []
        : [
            {
              open: { type: "text", text: "" },
              deltas: pieces(turn.text, turn.cuts).map((text) => ({ type: "text_delta", text })),
            },
          ]),
      ...turn.calls.map(({ id = "", name, text }) => {
        const input = form.input === "value" ? (JSON.parse(text) as object) : form.input === "text" ? text : {};
        const open = { type: "tool_use", name, input, ...idOf(form.id, id, 0, true) };
        const parts = form.input === "pieces" ? pieces(text, turn.cuts) : [];
        return { open, deltas: parts.map((part) => ({ type: "input_json_delta", partial_json: part })) };
      }),
    ];
    const end = { type: "message_delta", delta: { stop_reason: "tool_use" } };
    const events = [
      { type: "message_start", message: {} },
      ...blocks.flatMap(({ open, deltas }, i) => {
        const index = indexOf(form.index, i);
        const stop = { type: "content_block_stop", ...index };
        const begin = { type: "content_block_start", ...index, content_block: open };
        return [begin, ...deltas.map((delta) => ({ type: "content_block_delta", ...index, delta })), stop, stop];
      }),
      end,
      end,
      { type: "message_stop" },
      { type: "message_stop" },
    ];
    expect(essence("anthropic", events)).toEqual(whole("anthropic", turn));
  };
  fc.assert(fc.property(meant, CLAUDE_FORMS, holds), { numRuns: 500 });
});

const RESPONSES_FORMS = fc.record({
  index: fc.constantFrom(...INDEXES),
  id: fc.constantFrom(...IDS),
  callId: fc.constantFrom("real", "absent", "equal"),
  how: fc.constantFrom(
    "items",
    "items without arguments",
    "events",
    "events without a beginning",
    "only events",
    "only items",
    "output",
    "value",
  ),
  repeats: fc.boolean(),
});

test("items of a Responses server are joined, whatever it leaves out or repeats", () => {
  const holds = (turn: Meant, form: typeof RESPONSES_FORMS extends fc.Arbitrary<infer Form> ? Form : never) => {
    const output: object[] = [];
    /** Items that end after all have begun. */
    const later: object[] = [];
    fc.pre(form.how !== "only events" || form.index === "real");
    const events = turn.calls.flatMap(({ id = "", name, text }, i) => {
      const { index: output_index } = indexOf(form.index, i) as { index?: number };
      const ids = [0, 1, 2, 3].map(
        (piece) => idOf(form.id === "equal" ? "absent" : form.id, `fc_${i}`, piece, piece === 3).id,
      );
      const call = idOf(form.callId, id, 0, true).id;
      const item = (at: number, written: unknown) => ({
        type: "function_call",
        ...(ids[at] && { id: ids[at] }),
        ...(call && { call_id: call }),
        name,
        arguments: written,
      });
      output.push(item(3, text));
      const at = { ...("index" in indexOf(form.index, i) && { output_index }) };
      const piece = (n: number) => ({ ...at, ...(ids[n] && { item_id: ids[n] }) });
      const begin = { type: "response.output_item.added", ...at, item: item(0, "") };
      const args = [
        ...pieces(text, turn.cuts).map((delta) => ({
          type: "response.function_call_arguments.delta",
          ...piece(1),
          delta,
        })),
        { type: "response.function_call_arguments.done", ...piece(2), arguments: text, name },
      ];
      const written =
        form.how === "value" ? (JSON.parse(text) as object) : form.how === "items without arguments" ? "" : text;
      const done: object = { type: "response.output_item.done", ...at, item: item(3, written) };
      if (form.how === "only items") later.push(done);
      if (form.how === "events") return [begin, ...args];
      if (form.how === "output" || form.how === "only items") return [begin];
      if (form.how === "only events") return args;
      if (form.how === "events without a beginning") return [...args, done];
      return [begin, ...args, done, ...(form.repeats ? [structuredClone(done)] : [])];
    });
    const end = {
      type: "response.completed",
      response: { status: "completed", output: form.how === "output" ? output : [] },
    };
    expect(essence("openai-responses", [...events, ...later, end, end])).toEqual(
      whole("openai-responses", { ...turn, text: "" }),
    );
  };
  fc.assert(fc.property(meant, RESPONSES_FORMS, holds), { numRuns: 1_000 });
});

const GEMINI_FORMS = fc.record({
  id: fc.constantFrom("real", "absent", "equal"),
  args: fc.constantFrom("value", "text"),
  end: fc.constantFrom("plain", "empty part", "repeats a call"),
});

test("parts of a Gemini server are joined, and its closing part is neither a call nor sent back", () => {
  const holds = (turn: Meant, form: typeof GEMINI_FORMS extends fc.Arbitrary<infer Form> ? Form : never) => {
    const calls = turn.calls.map(({ id = "", name, text }) => ({
      functionCall: {
        ...idOf(form.id, id, 0, true),
        name,
        args: form.args === "text" ? text : (JSON.parse(text) as object),
      },
    }));
    const last =
      form.end === "empty part"
        ? [{ text: "" }]
        : form.end === "repeats a call" && form.id !== "absent"
          ? calls.slice(-1)
          : [];
    const parts = [...pieces(turn.text, turn.cuts).map((text) => ({ text })), ...calls];
    const events = [
      ...parts.map((part) => ({ candidates: [{ content: { parts: [structuredClone(part)] } }] })),
      { candidates: [{ content: { parts: last }, finishReason: "STOP" }] },
    ];
    // A repeated call with an id that all calls have looks like a further call, unless the turn has one call.
    fc.pre(!(form.end === "repeats a call" && form.id === "equal" && calls.length > 1));
    expect(essence("gemini", events)).toEqual(whole("gemini", turn));
    expect(JSON.stringify(read("gemini", events).turn?.echo?.blocks)).not.toContain('"text":""}');
  };
  fc.assert(fc.property(meant, GEMINI_FORMS, holds), { numRuns: 500 });
});

test("a list of thoughts and texts is read as such", () => {
  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
    { type: "thinking", thinking: "m" },
    { type: "text", text: "Rome is sunny." },
    { type: "reference", reference_ids: [1] },
  ];
  const events = [
    ...content.map((one) => ({ choices: [{ delta: { content: [one] } }] })),
    { choices: [{ delta: {}, finish_reason: "stop" }] },
  ];

  expect(essence("openai-chat", events)).toMatchObject({ text: "Rome is sunny.", thoughts: ["hmm"], thought: "hmm" });
  expect(read("openai-chat", events).turn?.echo?.blocks).toEqual({ role: "assistant", content: "Rome is sunny." });
});

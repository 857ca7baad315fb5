import type { HookCall } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { startHooked, echo, masks, passed, replacedBy, SECRET } from "./start-hooks.ts";

describe("beforeAnswer with structured answers", () => {
  const responseSchema = {
    type: "object",
    properties: { word: { type: "string" }, count: { type: "integer" } },
    required: ["word", "count"],
    additionalProperties: false,
  };
  const respond = (...values: unknown[]) => ({
    calls: values.map((value) => ["respond", value] as const),
    echo: echo(JSON.stringify(values)),
  });
  const VALUE = { word: SECRET, count: 3 };

  test("sees the value as fenced JSON, and a passed value is the answer", async () => {
    await using system = await startHooked([{ ...respond(VALUE), text: "Here." }], () => passed);

    const { answer } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: true, structured: VALUE });
    expect(system.calls.slice(1)).toMatchObject([
      { part: "thought", answer: "Here." },
      { part: "answer", answer: answer.response },
    ]);
    expect(answer.response).toBe(`\`\`\`json\n${JSON.stringify(VALUE, undefined, 2)}\n\`\`\``);
  });

  test.each([
    ["fenced", masks],
    ["bare", (call: HookCall) => (call.hook === "beforeAnswer" ? replacedBy('{"word":"***","count":3}') : passed)],
  ] as const)("a %s value that it returns is the answer, and the replaced one is stored nowhere", async (_, hook) => {
    await using system = await startHooked([respond(VALUE, { word: SECRET })], hook);

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: true, structured: { word: "***", count: 3 } });
    expect(answer.response).toContain('"word": "***"');
    expect(left).not.toContain(SECRET);
  });

  test.each([
    ["lacks a member", '{"word":"***"}'],
    ["holds a number that no reader keeps", '{"word":"***","count":9007199254740993}'],
  ])("a replacement that %s ends the run with output_invalid", async (_, text) => {
    await using system = await startHooked([respond(VALUE)], ({ hook }) =>
      hook === "beforeQuery" ? passed : replacedBy(text),
    );

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: false, code: "output_invalid", response: text });
    expect(answer).not.toHaveProperty("structured");
    // The model is not asked to correct the hook's text.
    expect(system.model.requests).toHaveLength(1);
    expect(left).not.toContain(SECRET);
  });

  test("sees invalid values before they are stored, and the last one before the caller gets it", async () => {
    const wrong = { word: SECRET, [SECRET]: 1 };
    await using system = await startHooked([respond(wrong), respond(wrong, wrong), respond(wrong)], masks);

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: false, code: "output_invalid", response: '{"word":"***","***":1}' });
    expect(left).not.toContain(SECRET);
    expect(JSON.stringify(system.model.requests)).not.toContain(SECRET);
    expect(system.calls.slice(1)).toMatchObject(["thought", "thought", "thought", "answer"].map((part) => ({ part })));
  });

  test("sees a text that the model wrote instead of a value", async () => {
    await using system = await startHooked([{ text: `It is ${SECRET}.` }, { text: `Still ${SECRET}.` }], masks);

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: false, code: "output_invalid", response: "Still ***." });
    expect(left).not.toContain(SECRET);
    expect(system.calls.slice(1)).toMatchObject([{ part: "thought" }, { part: "answer" }]);
  });

  test("an invalid value that it replaces with an empty text does not become an answer", async () => {
    const empties = (call: HookCall) =>
      call.hook === "beforeAnswer" && call.part === "thought" ? replacedBy("") : passed;
    const optional = { ...responseSchema, required: [] };
    await using system = await startHooked([respond({ count: "x" }), respond({ count: 3 })], empties);

    const { answer } = await system.ask("What is it?", { responseSchema: optional });

    expect(answer).toMatchObject({ success: true, structured: { count: 3 } });
  });

  test.each([
    ["a member that is written twice", `{"word":"${SECRET}","word":"ok","count":3}`],
    ["a member that reading leaves out", `{"word":"ok","count":3,"__proto__":{"word":"${SECRET}"}}`],
  ])("parts of a value that it does not see are not stored: %s", async (_, text) => {
    await using system = await startHooked([respond(text)], masks);

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: true, structured: { word: "ok", count: 3 } });
    expect(left).not.toContain(SECRET);
    expect(left).not.toContain("echo");
  });

  test("sees an invalid value as it is read, and escapes and duplicate properties are neither stored nor sent", async () => {
    const written = [`{"word":"\\u0078${SECRET.slice(1)}"}`, `{"count":"${SECRET}","count":3}`];
    await using system = await startHooked([respond(...written), respond({ word: "ok", count: 3 })], masks);

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: true });
    expect(system.calls.slice(1, 3)).toMatchObject([{ answer: `{"word":"${SECRET}"}` }, { answer: '{"count":3}' }]);
    const after = system.model.requests[1]?.messages.find(({ role }) => role === "assistant");
    expect(after).not.toHaveProperty("echo");
    expect(after).toMatchObject({ calls: [{ arguments: '{"word":"***"}' }, { arguments: '{"count":3}' }] });
    expect(left).not.toMatch(new RegExp(`${SECRET}|u0078`));
  });

  test("a number that parsers change stays a fault when the rest of the value is rewritten", async () => {
    const written = '{"word":"a","word":"b","count":9007199254740993}';
    await using system = await startHooked([respond(written), respond({ word: "ok", count: 3 })], masks);

    const { answer } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: true, structured: { word: "ok", count: 3 } });
    expect(system.calls[1]).toMatchObject({ part: "thought", answer: '{"word":"b","count":9007199254740993}' });
  });

  test("a value that differs from its text only in white space is stored as the model wrote it", async () => {
    const spaced = '{ "word": "a \\"b\\" c" }';
    await using system = await startHooked([respond(spaced), respond({ word: "ok", count: 3 })], () => passed);

    await system.ask("What is it?", { responseSchema });

    expect(system.model.requests[1]?.messages.find(({ role }) => role === "assistant")).toMatchObject({
      calls: [{ arguments: spaced }],
      echo: echo(JSON.stringify([spaced])),
    });
  });

  test("sees a value that it made valid again, as the answer", async () => {
    const word = { type: "object", properties: { word: { enum: ["***"] } }, required: ["word"] };
    const replacesTwice = (call: HookCall) =>
      call.hook === "beforeAnswer" && call.part === "answer" ? replacedBy('{"word":"***","seen":true}') : masks(call);
    await using system = await startHooked([respond({ word: SECRET })], replacesTwice);

    const { answer, left } = await system.ask("What is it?", { responseSchema: word });

    expect(answer).toMatchObject({ success: true, structured: { word: "***", seen: true } });
    expect(system.calls.slice(1)).toMatchObject([
      { part: "thought", answer: `{"word":"${SECRET}"}` },
      { part: "answer", answer: '```json\n{\n  "word": "***"\n}\n```' },
    ]);
    expect(left).not.toContain(SECRET);
  });

  test("values whose replacements are not JSON are corrected like invalid ones", async () => {
    const withholds = (call: HookCall) =>
      call.hook === "beforeAnswer" && call.part === "thought" ? replacedBy("[withheld]") : passed;
    const twice = respond({ word: SECRET }, { word: SECRET });
    await using system = await startHooked([twice, twice, respond({ word: "ok", count: 3 })], withholds);

    const { answer, left } = await system.ask("What is it?", { responseSchema });

    expect(answer).toMatchObject({ success: true, structured: { word: "ok" } });
    expect(left).not.toContain(SECRET);
  });
});

import { describe, expect, test } from "vitest";
import * as fc from "@patchbay/test-support/properties";
import { inexactNumber, inexactToText, lossIn, readArguments, withExactArguments } from "../src/index.ts";

const INEXACT = [
  "2512292042121000001",
  "-9007199254740993",
  "9007199254740993.0",
  "2.512292042121000001e18",
  "123456789012345678.25",
  "123456789012345678901234567890",
  "1e400",
  "-1e400",
  "1e-400",
];
const EXACT = [
  "0",
  "-0",
  "0.1",
  "3.3333333333333333333",
  "9007199254740992",
  "1e23",
  "1.7976931348623157e308",
  "5e-324",
];

describe("arguments", () => {
  test.each(INEXACT)("with the number %s are refused, with its place", (number) => {
    expect(readArguments(`{"order":{"ids":[1,${number}]}}`)).toEqual({
      ok: false,
      message: `The arguments hold the number ${number} in "order.ids.1", which JSON readers cannot keep exactly. Write it as text.`,
    });
  });

  test.each(EXACT)("with the number %s are read", (number) => {
    expect(readArguments(`{"id":${number}}`)).toEqual({ ok: true, value: { id: Number(number) } });
  });

  test.each([
    ['{"city":"Rome","city":"Oslo"}', 'have the member "city" twice. Write each member once'],
    ['{"a":[{"b":1},{"b":1,"\\u0062":2}]}', 'have the member "a.1.b" twice. Write each member once'],
    ['"{\\"city\\":\\"Rome\\"}"', "are a text that holds JSON. Write the object itself, not as text"],
    ['" [1]"', "are a text that holds JSON. Write the object itself, not as text"],
    ['{"city":', "are not valid JSON"],
    ['{"city":"Rome"}{"city":"Oslo"}', "are not valid JSON"],
    ["[".repeat(65) + "]".repeat(65), "must not nest deeper than 64"],
  ])("%s are refused", (text, reason) => {
    expect(readArguments(text)).toEqual({ ok: false, message: `The arguments ${reason}.` });
  });

  test.each([
    ["", {}],
    [" \n", {}],
    ['{"id":"2512292042121000001","a":{"id":1},"b":[{"id":1},{"id":2}]}', { id: "2512292042121000001" }],
    ['{"text":"{\\"id\\":9007199254740993,\\"id\\":1}"}', { text: '{"id":9007199254740993,"id":1}' }],
  ])("%s are read", (text, value) => {
    expect(readArguments(text)).toMatchObject({ ok: true, value });
  });

  test("with a value that JSON.stringify wrote are read as that value", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes("__proto__") && text.isWellFormed() && inexactNumber(text) === undefined);
        expect(readArguments(text)).toEqual({ ok: true, value: JSON.parse(text) });
        expect(inexactToText(text)).toBe(text);
      }),
    );
  });
});

test.each(INEXACT)("the digits of %s survive as text", (number) => {
  expect(inexactNumber(number)).toBe(number);
  expect(inexactToText(`{"id": ${number}, "text": "${number}"}`)).toBe(`{"id": "${number}", "text": "${number}"}`);
});

describe("an event", () => {
  test.each([
    [
      '{"functionCall":{"name":"f","args":{"id":9007199254740993}}}',
      ["functionCall", "args"],
      '{"id":9007199254740993}',
    ],
    ['{"x":[{"input" : {"a":1,"a":2}}]}', ["x", "0", "input"], '{"a":1,"a":2}'],
    ['{"arguments":[1e400],"n":1}', ["arguments"], "[1e400]"],
    ['{"numberValue":9007199254740993}', ["numberValue"], "9007199254740993"],
  ])("%s has the call's arguments as text", (event, path, text) => {
    const read = JSON.parse(withExactArguments(event)) as object;

    expect(path.reduce<unknown>((at, name) => Object(at)[name], read)).toBe(text);
  });

  test("with exact arguments, and with such numbers elsewhere, stays as it is", () => {
    for (const event of [
      '{"args":{"id":1,"args":{}}}',
      '{"arguments":"{\\"id\\":9007199254740993}"}',
      '{"input":{},"usage":9007199254740993}',
      '{"text":"\\"args\\":{\\"id\\":9007199254740993}","args":{"a":1}}',
    ])
      expect(withExactArguments(event)).toBe(event);
  });

  test("has the same value, but for arguments that parsing would change", () => {
    const json = fc.jsonValue({ maxDepth: 3 }).map((args) => ({ parts: [{ args }, { input: [args] }], args }));
    fc.assert(
      fc.property(json, (event) => {
        const text = JSON.stringify(event, undefined, 1);
        fc.pre(lossIn(text) === undefined);
        expect(withExactArguments(text)).toBe(text);
      }),
    );
  });
});

import { expect, test } from "vitest";
import { csvCell } from "../src/csv.ts";

const SIGNS = ["=", "+", "-", "@", "\t", "\r", "\n"];
/** Full-width, small, superscript and subscript forms, which NFKC reduces to the ASCII ones, and the minus sign. */
const FORMS = [
  ..."\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b\u2212".matchAll(/./g),
];
const BLANKS = [..." \u00a0\ufeff\u200b\u3000\u2028\u00ad\u2060\u0000\u0301".matchAll(/./gs)].map(([blank]) => blank);
const BEHIND = ["  ", "\u{e0020}", ...BLANKS].flatMap((blank) =>
  ["=", "\uff1d", "-", "\u200b @"].map((sign) => `${blank}${sign}`),
);

test.each([...SIGNS, ...FORMS.map(([form]) => form), ...BEHIND, " \t", "\u200b\r"])(
  "a cell that begins with %j gets an apostrophe",
  (begin) => {
    expect(csvCell(`${begin}1+1`).replaceAll('"', "")).toBe(`'${begin}1+1`);
    expect(csvCell(`${begin}HYPERLINK("http://x", 1)`).slice(1)).toBe(`'${begin}HYPERLINK(""http://x"", 1)"`);
  },
);

test.each(["", "a=b", " a", "\u200b\u00e9", "1-1", "'=1", "\u{1f600} = 1", "mail@example.com", "2026-01-02"])(
  "%j gets no apostrophe",
  (text) => expect(csvCell(text)).toBe(text),
);

test("separators, quotes and line breaks are quoted, and numbers are not guarded", () => {
  expect(csvCell('a,"b"\nc')).toBe('"a,""b""\nc"');
  expect(csvCell("a\rb")).toBe('"a\rb"');
  expect(csvCell(-1.5)).toBe("-1.5");
});

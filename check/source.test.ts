import { expect, test } from "vitest";
import { readSource } from "./source.ts";

test("strings, templates, regular expressions and JSX texts contain no comments", () => {
  const source = [
    "const url = 'https://a.example/*'; // one",
    "const pattern = /\\/\\/ two [/*]/u, template = `// ${1 /* three */} /* four */`;",
    "export const page = <p title='// five'>// six {/* seven */}</p>;",
  ].join("\n");
  expect(readSource("a.tsx", source)).toEqual({
    comments: [
      { line: 1, text: " one" },
      { line: 2, text: " three " },
      { line: 3, text: " seven " },
    ],
    lines: 3,
    codeLines: 3,
    commentLines: 0,
  });
});

test("line comments on consecutive lines are one comment", () => {
  const source = "// one\n// two\n\n// three\nf(); // four\ng(); // five\n/* six */\n// seven";
  expect(readSource("a.ts", source)).toEqual({
    comments: [
      { line: 1, text: " one\n two" },
      { line: 4, text: " three" },
      { line: 5, text: " four" },
      { line: 6, text: " five" },
      { line: 7, text: " six " },
      { line: 8, text: " seven" },
    ],
    lines: 8,
    codeLines: 2,
    commentLines: 5,
  });
});

test("a line with code and a comment is a code line, and a blank line is neither", () => {
  const source = "/**\n * One.\n *\n * Two.\n */\n\nconst a = `\n\n// text\n`; /* three\n*/\nf(/* four */);\n";
  expect(readSource("a.ts", source)).toMatchObject({ lines: 12, codeLines: 4, commentLines: 6 });
  expect(
    readSource("a.ts", source)
      .comments[0]!.text.split("\n")
      .map((line) => line.trim()),
  ).toEqual(["", "One.", "", "Two.", ""]);
});

test("a file with a syntax error is refused", () => {
  expect(() => readSource("a.ts", "const = 1; // of")).toThrow("a.ts cannot be parsed");
});

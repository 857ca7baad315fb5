import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { Visitor } from "oxc-parser";
import { parse } from "./source.ts";

/**
 * `words`: what hides the actor or the field's term, and what to write in its place. `allowed`: true uses, as common English or the
 * words of somebody else, for all files or for one.
 */
interface WordList {
  words: Record<string, string>;
  allowed: { phrase: string; file?: string }[];
}

const list = JSON.parse(readFileSync(join(import.meta.dirname, "words.json"), "utf8")) as WordList;

/** A space of a pattern also matches the end of a line of a comment. */
const GAP = String.raw`\s+(?:(?:\*|//|#|>)\s+)?`;
const patterns = Object.entries(list.words).map(([text, instead]) => ({
  pattern: new RegExp(String.raw`(?<![\w-])(?:${text.replaceAll(" ", GAP)})(?![\w-])`, "giu"),
  instead,
}));
const allowances = list.allowed.map(({ phrase, file }) => ({ file, phrase: new RegExp(phrase, "giu") }));

/** One use of a word, with its place in the file (both counted from 1). */
export interface Finding {
  file: string;
  line: number;
  column: number;
  text: string;
  instead: string;
}

/** The parts of a file that a person reads: all of a text, and the comments, strings and JSX texts of a program. */
function texts(file: string, source: string): { start: number; text: string }[] {
  if (![".ts", ".tsx", ".mts", ".mjs"].includes(extname(file))) return [{ start: 0, text: source }];
  const { comments, program } = parse(file, source);
  const spans: [start: number, end: number][] = comments.map(({ start, end }) => [start, end]);
  new Visitor({
    Literal: ({ value, start, end }) => {
      if (typeof value === "string") spans.push([start, end]);
    },
    TemplateElement: ({ start, end }) => void spans.push([start, end]),
    JSXText: ({ start, end }) => void spans.push([start, end]),
  }).visit(program);
  return spans.map(([start, end]) => ({ start, text: source.slice(start, end) }));
}

/** Every use of a listed word in what people read of a file. */
export function findWords(file: string, source: string): Finding[] {
  return texts(file, source).flatMap(({ start, text }) => {
    const allowed = allowances
      .filter((one) => one.file === undefined || one.file === file)
      .flatMap(({ phrase }) =>
        [...text.matchAll(phrase)].map((match) => [match.index, match.index + match[0].length] as const),
      );
    return patterns.flatMap(({ pattern, instead }) =>
      [...text.matchAll(pattern)]
        .filter(({ index }) => !allowed.some(([from, to]) => index >= from && index < to))
        .map((match) => {
          const before = source.slice(0, start + match.index).split("\n");
          return { file, line: before.length, column: before.at(-1)!.length + 1, text: match[0], instead };
        }),
    );
  });
}

const READ = /(?:\.(?:ts|tsx|mts|mjs|md|css|html|ya?ml|sh|conf|service|example)|Dockerfile|\.ci\/\w+|package\.json)$/u;

function main(paths: readonly string[]): void {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z", "--", ...paths])
    .toString()
    .split("\0")
    .filter((file) => READ.test(file) && !file.startsWith("pnpm-"));
  const findings = [...new Set(files)].flatMap((file) => {
    let source;
    try {
      source = readFileSync(file, "utf8");
    } catch {
      return []; // deleted, not committed yet
    }
    return findWords(file, source);
  });
  for (const { file, line, column, text, instead } of findings)
    process.stdout.write(`${file}:${line}:${column} "${text.replace(/\s+/gu, " ")}" → ${instead}\n`);
  if (findings.length > 0) {
    process.stdout.write(`${findings.length} uses of listed words in ${files.length} files. Rewrite each sentence.\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) main(process.argv.slice(2));

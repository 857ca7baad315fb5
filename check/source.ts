import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type ParseResult, parseSync } from "oxc-parser";

/** One comment; `//` comments on consecutive lines are one. `text` has no comment marks. */
interface Comment {
  /** Counted from 1. */
  line: number;
  text: string;
}

/** A program's comments and line counts. A line with code and a comment is a code line; `lines` includes blank lines. */
interface Source {
  comments: Comment[];
  lines: number;
  codeLines: number;
  commentLines: number;
}

/** Throws on a syntax error, after which the parser reports no comments. */
export function parse(file: string, source: string): ParseResult {
  const result = parseSync(file, source);
  if (result.errors.length > 0) throw new Error(`${file} cannot be parsed: ${result.errors[0]!.message}`);
  return result;
}

export function readSource(file: string, source: string): Source {
  const comments: Comment[] = [];
  let code = "";
  let end = 0;
  let lastType = "";
  for (const { type, value, start, end: nextEnd } of parse(file, source).comments) {
    const between = source.slice(end, start);
    const text = type === "Line" ? value : value.replace(/^[ \t]*\*+/gmu, "");
    if (type === "Line" && lastType === "Line" && /^\s*$/u.test(between) && between.split("\n").length === 2)
      comments.at(-1)!.text += `\n${text}`;
    else comments.push({ line: source.slice(0, start).split("\n").length, text });
    code += between + source.slice(start, nextEnd).replace(/[^\n]/gu, "");
    end = nextEnd;
    lastType = type;
  }
  code += source.slice(end);
  const filled = (text: string) => text.split("\n").filter((line) => line.trim() !== "").length;
  const codeLines = filled(code);
  const lines = source.split("\n").length - (source.endsWith("\n") ? 1 : 0);
  return { comments, lines, codeLines, commentLines: filled(source) - codeLines };
}

/** Only tests import it. Like them, it is never published, and has no limits of size and prose. */
const FOR_TESTS = "packages/test-support";

/** The programs in `packages/<name>/src` below the working directory, with their packages; without `FOR_TESTS`. */
export function packageSources(): { file: string; name: string; source: Source }[] {
  return execFileSync("git", ["ls-files", "-co", "--exclude-standard", "-z", "--", "packages", `:!${FOR_TESTS}`])
    .toString()
    .split("\0")
    .filter((file) => /^packages\/[^/]+\/src\/.*\.tsx?$/u.test(file) && existsSync(file))
    .map((file) => ({ file, name: file.split("/")[1]!, source: readSource(file, readFileSync(file, "utf8")) }));
}

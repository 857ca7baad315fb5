import { readFileSync } from "node:fs";
import { packageSources } from "./source.ts";

const MIN_COMMENT_SHARE = 0.09;

function main(): void {
  const { codeLines: limit } = JSON.parse(readFileSync("check/size.json", "utf8")) as { codeLines: number };
  let codeLines = 0;
  let commentLines = 0;
  let lines = 0;
  for (const { source } of packageSources()) {
    codeLines += source.codeLines;
    commentLines += source.commentLines;
    lines += source.lines;
  }
  const share = commentLines / lines;
  process.stdout.write(
    `${codeLines} code lines in packages/*/src without test-support, of at most ${limit} (check/size.json)\n`,
  );
  if (share < MIN_COMMENT_SHARE)
    process.stdout.write(`${(100 * share).toFixed(1)} % of all lines are comments, less than 9 %\n`);
  if (codeLines <= limit) return;
  process.stdout.write("Remove code, or raise the number, and say in the commit what it adds and what it removed.\n");
  process.exitCode = 1;
}

if (import.meta.main) main();

import { basename } from "node:path";
import type { ExportedQuery, ExportedRun } from "@patchbay/control-plane";

/** Text of a test that asks an exported conversation again. It lacks what an export does not tell: the service and the context's values. */
export function testFileFor(file: string, { instructions, queries }: ExportedRun): string {
  const last = queries.at(-1);
  return `import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestDesk } from "@patchbay/functions/testing";
import service from "./service.ts"; // the file that default-exports what defineService() returned

test(${quoted(titleOf(last?.query ?? ""))}, async () => {
  await using desk = await startTestDesk(service, {
    replay: join(import.meta.dirname, ${quoted(basename(file))}),
    results: "recorded", // without it the functions run, on the data of this test
${instructions === undefined ? "" : `    instructions: ${quoted(instructions)},\n`}  });

${queries.map((query, i) => askText(query, i, queries.length)).join("\n")}
  expect(done.answer.success).toBe(true);
});
`;
}

const TITLE_LENGTH = 80;

function titleOf(query: string): string {
  const line = query.replaceAll(/\s+/g, " ");
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line;
}

function askText(query: ExportedQuery, index: number, count: number): string {
  const { contextKeys, ...members } = query;
  const lines = Object.entries(members).map(([name, value]) => `    ${name}: ${quoted(value)},`);
  if (contextKeys.length > 0) {
    const context = contextKeys.map((key) => `${quoted(key)}: ""`).join(", ");
    lines.push(`    context: { ${context} }, // fill in what the run was asked with`);
  }
  if (index > 0) lines.push(`    threadId: ${nameOf(index - 1, count)}.answer.threadId,`);
  return `  const ${nameOf(index, count)} = await desk.query({\n${lines.join("\n")}\n  });`;
}

const nameOf = (index: number, count: number): string => (index === count - 1 ? "done" : `turn${index + 1}`);

const quoted = (value: unknown): string => JSON.stringify(value);

import { AdminError } from "../accounts/admin-error.ts";
import type { Store } from "../ports/stores.ts";
import { type ExportedQuery, type ExportedRun, exportRun } from "./run-export.ts";

/** A test that replays an exported conversation. Its owner adds what the export lacks: the service and the context's values. */
export function testOf(file: string, { instructions, queries, failed }: ExportedRun): string {
  const last = queries.at(-1);
  return `import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestServer } from "@patchbay/functions/testing";
import service from "./service.ts"; // the file that default-exports what defineService() returned

test(${quoted(titleOf(last?.query ?? ""))}, async () => {
  await using server = await startTestServer(service, {
    replay: join(import.meta.dirname, ${quoted(file)}),
    results: "recorded", // without it the functions run, on the data of this test
${instructions === undefined ? "" : `    instructions: ${quoted(instructions)},\n`}  });

${queries.map((query, i) => queryText(query, i, queries.length)).join("\n")}
  expect(done.answer.success).toBe(${failed !== true});
});
`;
}

const TITLE_LENGTH = 60;

function titleOf(query: string): string {
  const line = query.replaceAll(/\s+/g, " ");
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line;
}

function queryText(query: ExportedQuery, index: number, count: number): string {
  const { contextKeys, ...properties } = query;
  const lines = Object.entries(properties).map(([name, value]) => `    ${name}: ${quoted(value)},`);
  if (contextKeys.length > 0) {
    const context = contextKeys.map((key) => `${quoted(key)}: ""`).join(", ");
    lines.push(`    context: { ${context} }, // fill in the values of the run`);
  }
  if (index > 0) lines.push(`    threadId: ${nameOf(index - 1, count)}.answer.threadId,`);
  return `  const ${nameOf(index, count)} = await server.query({\n${lines.join("\n")}\n  });`;
}

const nameOf = (index: number, count: number): string => (index === count - 1 ? "done" : `turn${index + 1}`);

const quoted = (value: unknown): string => JSON.stringify(value);

/** A file of an export. */
export interface TestFile {
  name: string;
  text: string;
}

/** The runs of an export, in its order. `more`: runs that match and are beyond its limit. */
export interface ExportedSet {
  runs: readonly { agentId: string; runId: string; query: string }[];
  more: boolean;
}

/**
 * Yields a recording and a test of each run, then `skipped.txt` with the runs that cannot be replayed and the reason. `within` runs
 * each access to the store.
 */
export async function* testFilesOf(
  store: Store,
  { runs, more }: ExportedSet,
  within: <T>(work: () => Promise<T>) => Promise<T> = (work) => work(),
): AsyncGenerator<TestFile, undefined, undefined> {
  const skipped: string[] = [];
  for (const { agentId, runId, query } of runs) {
    const run = await within(() => exportRun(store, runId, agentId)).catch((error: unknown) => {
      if (!(error instanceof AdminError)) throw error;
      skipped.push(error.message);
      return undefined;
    });
    if (!run) continue;
    const name = `${slugOf(query)}${runId}`;
    yield { name: `${name}.json`, text: `${JSON.stringify(run, null, 2)}\n` };
    yield { name: `${name}.test.ts`, text: testOf(`${name}.json`, run) };
  }
  if (more) skipped.push(`More runs match: an export has at most ${MOST_TESTS}. Narrow the filter to export them.`);
  if (skipped.length > 0) yield { name: "skipped.txt", text: `${skipped.join("\n")}\n` };
  return undefined;
}

/** Runs in one export of tests. Each rebuilds the model requests of its run and of the queries before it. */
export const MOST_TESTS = 200;

/** Letters and digits of the query, for the name of a file. */
function slugOf(query: string): string {
  const words = query.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = words.join("-").slice(0, 40).replace(/-$/, "");
  return slug === "" ? "" : `${slug}-`;
}

import type { TestCounts } from "@patchbay/protocol/console";
import { AdminError } from "../accounts/admin-error.ts";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { type ExportedQuery, type ExportedRun, exportRun } from "./run-export.ts";

/** A test that replays an exported conversation with its owner's service. A skipped one says what it lacks. */
export function testOf(file: string, { instructions, queries, failed, edits = [] }: ExportedRun): string {
  const last = queries.at(-1);
  return `import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestServer } from "@patchbay/functions/testing";
import service from "./service.ts"; // the file that default-exports what defineService() returned

${declared(edits)}(${quoted(titleOf(last?.query ?? ""))}, async () => {
  await using server = await startTestServer(service, {
    replay: join(import.meta.dirname, ${quoted(file)}),
    results: "recorded", // without it the functions run, on the data of this test
${instructions === undefined ? "" : `    instructions: ${quoted(instructions)},\n`}  });

${queries.map((query, i) => queryText(query, i, queries.length)).join("\n")}
  expect(done.answer.success).toBe(${failed !== true});
});
`;
}

/** The call that declares the test. One that needs edits is skipped, with a comment that lists them. */
const declared = (edits: readonly string[]): string =>
  edits.length === 0
    ? "test"
    : `// This test is skipped until you edit it. Then replace test.skip with test.\n${edits.map((edit) => `// - ${edit}\n`).join("")}test.skip`;

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

/** A file in an export. */
export interface TestFile {
  name: string;
  text: string;
  /** True for a test that is skipped until its owner edits it. */
  toEdit?: true;
}

/** An export's runs, in its order. `more`: more runs match than its limit allows. */
export interface ExportedSet {
  runs: readonly { agentId: string; runId: string; query: string }[];
  more: boolean;
}

type Within = <T>(work: () => Promise<T>) => Promise<T>;

/** Yields each run in an export, or the reason why it cannot be replayed. `within` wraps each store access. */
async function* exportsOf(store: Store, runs: ExportedSet["runs"], within: Within = (work) => work()) {
  for (const { agentId, runId, query } of runs) {
    const run = await within(() => exportRun(store, runId, agentId)).catch((error: unknown) => {
      if (!(error instanceof AdminError)) throw error;
      return error.message;
    });
    yield { name: `${slugOf(query)}${runId}`, run };
  }
}

/** Yields a recording and a test for each run, then `skipped.txt` with runs that cannot be replayed and the reason. */
export async function* testFilesOf(
  store: Store,
  { runs, more }: ExportedSet,
  within?: Within,
): AsyncGenerator<TestFile, undefined, undefined> {
  const skipped: string[] = [];
  for await (const { name, run } of exportsOf(store, runs, within)) {
    if (typeof run === "string") {
      skipped.push(run);
      continue;
    }
    yield { name: `${name}.json`, text: `${JSON.stringify(run, null, 2)}\n` };
    const text = testOf(`${name}.json`, run);
    yield { name: `${name}.test.ts`, text, ...(run.edits && { toEdit: true as const }) };
  }
  if (more) skipped.push(`More runs match: an export has at most ${MOST_TESTS}. Narrow the filter to export them.`);
  if (skipped.length > 0) yield { name: "skipped.txt", text: `${skipped.join("\n")}\n` };
  return undefined;
}

/** `testFilesOf` in numbers: tests, those that need an edit, and runs without a test. */
export async function countTests(store: Store, { runs }: ExportedSet, within?: Within): Promise<TestCounts> {
  const counts: TestCounts = { tests: 0, toEdit: 0, left: 0 };
  for await (const { run } of exportsOf(store, runs, within)) {
    if (typeof run === "string") counts.left += 1;
    else counts.tests += 1;
    if (typeof run !== "string" && run.edits) counts.toEdit += 1;
  }
  return counts;
}

/** Maximum runs in one test export. Each rebuilds the model requests for its run and the queries before it. */
export const MOST_TESTS = 200;

/** The query's letters and digits, for a file name. */
function slugOf(query: string): string {
  const words = query.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const slug = words.join("-").slice(0, 40).replace(/-$/, "");
  return slug === "" ? "" : `${slug}-`;
}

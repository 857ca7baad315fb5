import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportRun, type ExportedQuery, type ExportedRun } from "@patchbay/control-plane/admin";
import { defineFunction, defineService } from "@patchbay/functions";
import { scriptedModel, startTestServer, type FinishedQuery, type Script } from "@patchbay/functions/testing";
import type { AgentSettingsChange } from "@patchbay/protocol";
import { z } from "zod";
import { expect, test } from "vitest";
import { startSystem } from "@patchbay/test-support/system";

const book = defineService({
  name: "book",
  functions: [
    defineFunction({
      name: "read",
      description: "Reads a page.",
      input: z.object({ page: z.string() }),
      roles: "everyone",
      handler: ({ page }) => page.padEnd(30_000, "x"),
    }),
  ],
});

const read = (...pages: number[]) => ({ calls: pages.map((page) => ["read", { page: String(page) }] as const) });

/** Sends queries in one thread, each after a change of the agent's settings. Exports the last run and returns its warnings. */
async function exportTo(file: string, script: Script, changes: readonly AgentSettingsChange[]): Promise<string[]> {
  await using system = await startSystem({ service: book, model: scriptedModel(script) });
  let threadId: string | undefined;
  let runId = "";
  let warnings: string[] = [];
  for (const [at, settings] of changes.entries()) {
    await system.plane.admin.updateAgent(system.agentId, { settings });
    ({ threadId, runId, warnings = [] } = await system.query(`Query ${at}`, { threadId }));
  }
  writeFileSync(file, JSON.stringify(await exportRun(system.plane.store, runId)));
  return warnings;
}

/** Sends the queries of the file, as the exported test does. */
async function replay(file: string): Promise<{ queries: ExportedQuery[]; done: FinishedQuery[] }> {
  const { queries } = JSON.parse(readFileSync(file, "utf8")) as ExportedRun;
  await using desk = await startTestServer(book, { replay: file });
  const done: FinishedQuery[] = [];
  for (const { contextKeys: _, ...query } of queries) {
    const threadId = done.at(-1)?.answer.threadId;
    done.push(await desk.query({ ...query, ...(threadId !== undefined && { threadId }) }));
  }
  return { queries, done };
}

const place = () => mkdtempDisposableSync(join(tmpdir(), "patchbay-export-"));

test("runs that use the last step of their agent's settings are replayed, also if the settings changed between them", async () => {
  using folder = place();
  const file = join(folder.path, "run.json");
  const script: Script = [read(1), "One.", read(1), read(2), "Two.", read(1), read(2), read(3), "Three."];
  await exportTo(file, script, [{ steps: 1 }, { steps: 2 }, { steps: null }]);

  const { queries, done } = await replay(file);

  expect(queries.map(({ settings }) => settings)).toEqual([{ steps: 1 }, { steps: 2 }, { steps: null }]);
  expect(done.map(({ requests }) => requests.map(({ toolChoice }) => toolChoice))).toEqual([
    ["auto", "none"],
    ["auto", "auto", "none"],
    ["auto", "auto", "auto", "auto"],
  ]);
  expect(done.map(({ answer }) => answer.response)).toEqual(["One.", "Two.", "Three."]);
});

test("a run that exceeds the history budget of its agent is replayed with that budget", async () => {
  using folder = place();
  const file = join(folder.path, "run.json");
  // 12 pages have 360 KB: more than 101,000 tokens, the agent's limit, and less than 200,000, the default.
  const script: Script = ["One.", read(1, 2, 3, 4), read(5, 6, 7, 8), read(9, 10, 11, 12), "All read."];
  const warnings = await exportTo(file, script, [{ historyTokens: 1_000 }, {}]);
  expect(warnings).toEqual([expect.stringContaining("the limits are 1,000 tokens of earlier queries and 101,000")]);

  const { queries, done } = await replay(file);

  expect(queries.map(({ settings }) => settings)).toEqual([{ historyTokens: 1_000 }, undefined]);
  expect(done.at(-1)!.answer).toMatchObject({ success: true, response: "All read." });
});

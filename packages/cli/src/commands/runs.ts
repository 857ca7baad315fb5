import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { ExportedQuery, ExportedRun } from "@patchbay/control-plane/admin";
import type { Command } from "commander";
import { CommandFailure } from "../failure.ts";
import { agentOption, examples, option, parseCount } from "../options.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

/** `runs`: list, show and export. */
export function addRunCommands(program: Command): void {
  const runs = program.command("runs").description("list, show and export runs");
  adminCommand(runs, "list", "list an agent's runs, newest first")
    .addOption(agentOption().makeOptionMandatory())
    .addOption(option("--limit <n>", "runs to show, 1 to 10000").argParser(parseCount).default(100))
    .action((options: AdminOptions & { agent: string; limit: number }) =>
      administer(
        options,
        (admin) => admin.listRuns(options.agent, { limit: options.limit }),
        ({ items }) =>
          table(
            ["run", "status", "role", "duration", "cost", "created", "query"],
            items.map((run) => [
              run.runId,
              run.code === null ? run.status : `${run.status} (${run.code})`,
              run.role ?? "",
              run.durationMs === null ? "" : `${run.durationMs} ms`,
              `$${run.costUsd.toFixed(4)}`,
              run.createdAt,
              titleOf(run.query),
            ]),
            "No runs yet.",
          ),
      ),
    );
  const exporting = adminCommand(
    runs,
    "export <id>",
    "export a finished run as a recording that the test kit replays",
    {
      id: "id of a run that has ended, as `runs list` shows it",
    },
  )
    .addOption(option("--output <file>", "write it to NAME.json, with a test that replays it next to it"))
    .action(exportRun);
  examples(exporting, "patchbay runs export run_9f... --output test/runs/refund.json");
  adminCommand(runs, "show <id>", "show a run and its events", {
    id: "id of a run, as answers and `runs list` show it",
  }).action((id: string, options: AdminOptions) =>
    administer(
      options,
      (admin) => admin.showRun(id),
      ({ items, ...run }) => {
        const facts = Object.entries(run).filter(([, value]) => value !== null);
        const events = items.map((event, index) => `${String(index + 1).padStart(3)}  ${JSON.stringify(event)}`);
        return [fields(facts.map(([name, value]) => [name, String(value)])), "", ...events].join("\n");
      },
    ),
  );
}

async function exportRun(id: string, options: AdminOptions & { output?: string }): Promise<void> {
  const { output } = options;
  if (output !== undefined && !output.endsWith(".json"))
    throw new CommandFailure("--output must name a file that ends in .json.");
  const { exportRun: make } = await import("@patchbay/control-plane/admin");
  const text = (run: ExportedRun) => JSON.stringify(run, null, 2);
  if (output === undefined) return administer(options, (_admin, store) => make(store, id), text);
  await administer(
    options,
    async (_admin, store) => {
      const run = await make(store, id);
      await mkdir(dirname(output), { recursive: true });
      await writeFile(output, `${text(run)}\n`);
      return { file: output, ...(await writeTest(output, run)) };
    },
    ({ file, testFile, kept }) =>
      kept ? `Wrote ${file}. ${testFile} exists and is unchanged.` : `Wrote ${file} and ${testFile}.`,
  );
}

/** Never overwrites a test: its owner may have edited it. */
async function writeTest(output: string, run: ExportedRun): Promise<{ testFile: string; kept: boolean }> {
  const testFile = output.replace(/\.json$/, ".test.ts");
  const kept = existsSync(testFile);
  if (!kept) await writeFile(testFile, testOf(output, run));
  return { testFile, kept };
}

/** A test that replays an exported conversation. Its owner adds what the export lacks: the service and the context's values. */
function testOf(file: string, { instructions, queries }: ExportedRun): string {
  const last = queries.at(-1);
  return `import { join } from "node:path";
import { expect, test } from "vitest";
import { startTestServer } from "@patchbay/functions/testing";
import service from "./service.ts"; // the file that default-exports what defineService() returned

test(${quoted(titleOf(last?.query ?? ""))}, async () => {
  await using server = await startTestServer(service, {
    replay: join(import.meta.dirname, ${quoted(basename(file))}),
    results: "recorded", // without it the functions run, on the data of this test
${instructions === undefined ? "" : `    instructions: ${quoted(instructions)},\n`}  });

${queries.map((query, i) => queryText(query, i, queries.length)).join("\n")}
  expect(done.answer.success).toBe(true);
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

import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Admin } from "@patchbay/control-plane";
import type { ExportedRun } from "@patchbay/control-plane/admin";
import type { Command } from "commander";
import { CommandFailure } from "../failure.ts";
import { agentOption, examples, option, parseCount } from "../options.ts";
import { fields, table } from "../table.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

/** `runs`: list, show and export. */
export function addRunCommands(program: Command): void {
  const runs = program.command("runs").description("list, show and export runs");
  const list = adminCommand(runs, "list", "list an agent's runs, newest first")
    .addOption(agentOption("agent, as `agents list` shows its id; required without --request"))
    .addOption(
      option("--request <id>", "only runs that a request with this X-Request-Id started, of --agent or of all agents"),
    )
    .addOption(option("--limit <n>", "runs to show, 1 to 10000").argParser(parseCount).default(100))
    .action((options: ListOptions) => listRuns(list, options));
  examples(list, "patchbay runs list --agent agt_9f... --limit 20", "patchbay runs list --request req_9f...");
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
  const tests = adminCommand(runs, "export-tests", "export the runs that match a filter as recordings with tests")
    .addOption(agentOption().makeOptionMandatory())
    .addOption(option("--filter <parameters>", "as the console's list of runs has it in its address").default(""))
    .addOption(option("--output <folder>", "folder of the files").makeOptionMandatory())
    .action(exportTests);
  examples(tests, "patchbay runs export-tests --agent agt_9f... --filter 'feedback=bad&tag=refund' --output test/runs");
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

interface ListOptions extends AdminOptions {
  agent?: string;
  request?: string;
  limit: number;
}

async function listRuns(command: Command, options: ListOptions): Promise<void> {
  const { agent, request, limit } = options;
  const list = (admin: Admin) => {
    if (request !== undefined) return admin.runsOfRequest(request, { agentId: agent, limit });
    if (agent !== undefined) return admin.listRuns(agent, { limit });
    return command.error("error: required option '--agent <id>' not specified");
  };
  await administer(options, list, ({ items }) =>
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
      request === undefined ? "No runs yet." : `No run was started by a request with the id ${request}.`,
    ),
  );
}

async function exportRun(id: string, options: AdminOptions & { output?: string }): Promise<void> {
  const { output } = options;
  if (output !== undefined && !output.endsWith(".json"))
    throw new CommandFailure("--output must name a file that ends in .json.");
  const { exportRun: make, testOf } = await import("@patchbay/control-plane/admin");
  const text = (run: ExportedRun) => JSON.stringify(run, null, 2);
  if (output === undefined) return administer(options, (_admin, store) => make(store, id), text);
  await administer(
    options,
    async (_admin, store) => {
      const run = await make(store, id);
      await mkdir(dirname(output), { recursive: true });
      await writeFile(output, `${text(run)}\n`);
      return { file: output, ...(await writeTest(output, testOf(basename(output), run))), edits: run.edits ?? [] };
    },
    ({ file, testFile, kept, edits }) =>
      kept
        ? `Wrote ${file}. ${testFile} exists and is unchanged.`
        : [`Wrote ${file} and ${testFile}.`, ...(edits.length > 0 ? [skippedUntil(testFile), ...edits] : [])].join(
            "\n",
          ),
  );
}

interface ExportTestsOptions extends AdminOptions {
  agent: string;
  filter: string;
  output: string;
}

/** Writes a recording and a test of each run, and names the runs that cannot be replayed. */
async function exportTests(options: ExportTestsOptions): Promise<void> {
  const { agent, filter, output } = options;
  const { exportTests: make } = await import("@patchbay/control-plane/admin");
  await administer(
    options,
    async (_admin, store) => {
      const written: string[] = [];
      const kept: string[] = [];
      const toEdit: string[] = [];
      let skipped: string[] = [];
      for await (const { name, text, toEdit: needsEdit } of await make(store, agent, filter)) {
        if (name === "skipped.txt") {
          skipped = text.trimEnd().split("\n");
          continue;
        }
        const file = join(output, name);
        if (existsSync(file)) kept.push(file);
        else {
          await mkdir(output, { recursive: true });
          await writeFile(file, text);
          written.push(file);
          if (needsEdit) toEdit.push(file);
        }
      }
      return { written, kept, toEdit, skipped };
    },
    ({ written, kept, toEdit, skipped }) =>
      [
        ...written.map((file) => `Wrote ${file}.`),
        ...toEdit.map(skippedUntil),
        ...kept.map((file) => `${file} exists and is unchanged.`),
        ...skipped,
        ...(written.length + kept.length + skipped.length === 0 ? ["No runs match."] : []),
      ].join("\n"),
  );
}

const skippedUntil = (file: string): string => `${file} is skipped until you edit it. Its comment says what to change.`;

/** Never overwrites a test: its owner may have edited it. */
async function writeTest(output: string, text: string): Promise<{ testFile: string; kept: boolean }> {
  const testFile = output.replace(/\.json$/, ".test.ts");
  const kept = existsSync(testFile);
  if (!kept) await writeFile(testFile, text);
  return { testFile, kept };
}

const TITLE_LENGTH = 60;

function titleOf(query: string): string {
  const line = query.replaceAll(/\s+/g, " ");
  return line.length > TITLE_LENGTH ? `${line.slice(0, TITLE_LENGTH)}…` : line;
}

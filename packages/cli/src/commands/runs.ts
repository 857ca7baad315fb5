import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Command } from "commander";
import { CommandFailure } from "@patchbay/loading/failure";
import { agentOption, limitOption, option, type OptionsOf, requiredAgentOption } from "../options.ts";
import { listing } from "../table.ts";
import { adminCommand, type AdminOptions, databaseCommand, shownMembers, type Task, withAdmin } from "./administer.ts";

/** `runs`: list, show, retry and export. */
export function addRunCommands(program: Command): void {
  const runs = program.command("runs").description("list, show, retry and export runs");
  addList(runs);
  adminCommand(runs, "retry <id>", "continue a failed run from its last stored step, as a new run", {
    arguments: { id: "id of a failed run, as `runs list` shows it" },
    examples: ["patchbay runs retry run_9f..."],
    async work({ store, args: [id] }) {
      const { retryRun } = await import("@patchbay/control-plane/admin");
      return await retryRun(store, id);
    },
    // A server that runs on the database begins the new run within a second.
    show: ({ runId, retryOf }) =>
      `Run ${runId} continues run ${retryOf}. A server on this database begins it within a second: patchbay runs show ${runId}`,
  });
  addExports(runs);
  adminCommand(runs, "show <id>", "show a run and its events", {
    arguments: { id: "run id, as answers and `runs list` show it" },
    work: ({ admin, args: [id] }) => admin.showRun(id),
    show({ items, ...run }) {
      const events = items.map((event, index) => `${String(index + 1).padStart(3)}  ${JSON.stringify(event)}`);
      return [shownMembers(run), "", ...events].join("\n");
    },
  });
}

function addList(runs: Command): void {
  adminCommand(runs, "list", "list an agent's runs, newest first", {
    options: [
      agentOption("agent, as `agents list` shows its id; required without --request"),
      option("--request <id>", "only runs started with this X-Request-Id, with or without --agent"),
      limitOption("runs"),
    ],
    examples: ["patchbay runs list --agent agt_9f... --limit 20", "patchbay runs list --request req_9f..."],
    check({ agent, request }, refuse) {
      if (agent === undefined && request === undefined) refuse("required option '--agent <id>' not specified");
    },
    work: ({ admin, options: { agent, request, limit } }) =>
      request === undefined
        ? admin.listRuns(agent!, { limit })
        : admin.runsOfRequest(request, { agentId: agent, limit }),
    show: ({ items }, { options: { request } }) =>
      listing(
        items,
        request === undefined ? "No runs yet." : `No run was started by a request with the id ${request}.`,
        {
          run: "runId",
          status: ({ status, code }) => (code === null ? status : `${status} (${code})`),
          role: "role",
          duration: ({ durationMs }) => (durationMs === null ? "" : `${durationMs} ms`),
          cost: ({ costUsd }) => `$${costUsd.toFixed(4)}`,
          created: "createdAt",
          query: ({ query }) => titleOf(query),
        },
      ),
  });
}

const exportOptions = () => [
  requiredAgentOption(),
  option("--filter <parameters>", "filter parameters from the address of the console's run list", { preset: "" }),
  option("--output <folder>", "folder for the files", { required: true }),
];

function addExports(runs: Command): void {
  databaseCommand(runs, "export <id>", "export a finished run as a recording that the test kit replays", {
    arguments: { id: "id of an ended run, as `runs list` shows it" },
    options: [option("--output <file>", "write it to NAME.json, with a test that replays it next to it")],
    examples: ["patchbay runs export run_9f... --output test/runs/refund.json"],
    work: ({ args: [id], options }) => exportRun(id, options),
    show(exported) {
      if (!("testFile" in exported)) return JSON.stringify(exported, null, 2);
      const { file, testFile, kept, edits } = exported;
      if (kept) return `Wrote ${file}. ${testFile} exists and is unchanged.`;
      const skipped = edits.length > 0 ? [skippedUntil(testFile), ...edits] : [];
      return [`Wrote ${file} and ${testFile}.`, ...skipped].join("\n");
    },
  });
  adminCommand(runs, "export-tests", "export the runs that match a filter as recordings with tests", {
    options: exportOptions(),
    examples: ["patchbay runs export-tests --agent agt_9f... --filter 'feedback=bad&tag=refund' --output test/runs"],
    work: exportTests,
    show: ({ written, kept, toEdit, skipped }) =>
      [
        ...written.map((file) => `Wrote ${file}.`),
        ...toEdit.map(skippedUntil),
        ...kept.map((file) => `${file} exists and is unchanged.`),
        ...skipped,
        ...(written.length + kept.length + skipped.length === 0 ? ["No runs match."] : []),
      ].join("\n"),
  });
}

async function exportRun(id: string, { output, ...options }: AdminOptions & { output?: string }) {
  if (output !== undefined && !output.endsWith(".json"))
    throw new CommandFailure("--output must name a file that ends in .json.");
  const { exportRun: make, testOf } = await import("@patchbay/control-plane/admin");
  const run = await withAdmin(options, (_admin, store) => make(store, id));
  if (output === undefined) return run;
  await mkdir(dirname(output), { recursive: true });
  await writeFile(output, `${JSON.stringify(run, null, 2)}\n`);
  const written = await writeTest(output, testOf(basename(output), run));
  return { file: output, ...written, edits: run.edits ?? [] };
}

/** Writes a recording and a test for each run, and names the runs that cannot be replayed. */
async function exportTests({ store, options }: Task<OptionsOf<typeof exportOptions>>) {
  const { agent, filter, output } = options;
  const { exportTests: make } = await import("@patchbay/control-plane/admin");
  const files = { written: [] as string[], kept: [] as string[], toEdit: [] as string[], skipped: [] as string[] };
  for await (const { name, text, toEdit } of await make(store, agent, filter)) {
    const file = join(output, name);
    if (name === "skipped.txt") files.skipped = text.trimEnd().split("\n");
    else if (existsSync(file)) files.kept.push(file);
    else {
      await mkdir(output, { recursive: true });
      await writeFile(file, text);
      files.written.push(file);
      if (toEdit) files.toEdit.push(file);
    }
  }
  return files;
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

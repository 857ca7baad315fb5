import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { agentOption, examples, option, parseCount } from "../options.ts";
import { fields, table } from "../output.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";
import { addExportCommand } from "./export-run.ts";

interface ListOptions extends AdminOptions {
  agent: string;
  limit: number;
}

const limitOption = () => option("--limit <n>", "the newest n").argParser(parseCount).default(100);

/** `runs` and `backup`: what happened, and a copy of it. */
export function addRecordCommands(program: Command): void {
  addRuns(program);
  const backup = adminCommand(
    program,
    "backup <file>",
    "write a consistent copy of the embedded database, while it runs",
  );
  backup.action((file: string, options: AdminOptions) =>
    administer(
      options,
      async (_admin, store) => {
        await store.backup(file);
        return { file, sizeBytes: (await stat(file)).size };
      },
      ({ sizeBytes }) => `Wrote ${file} (${sizeBytes} bytes).`,
    ),
  );
  examples(backup, "patchbay backup backups/2026-11-21.db --data-dir /var/lib/patchbay");
}

function addRuns(program: Command): void {
  const runs = program.command("runs").description("runs: the queries that were asked");
  adminCommand(runs, "list", "list an agent's runs, newest first")
    .addOption(agentOption().makeOptionMandatory())
    .addOption(limitOption())
    .action((options: ListOptions) =>
      administer(
        options,
        (admin) => admin.listRuns(options.agent, { limit: options.limit }),
        ({ items }) =>
          table(
            ["run", "status", "role", "created", "thread"],
            items.map((run) => [
              run.runId,
              run.code === null ? run.status : `${run.status} (${run.code})`,
              run.role ?? "",
              run.createdAt,
              run.threadId,
            ]),
            "No runs yet.",
          ),
      ),
    );
  addExportCommand(runs);
  adminCommand(runs, "show <id>", "show a run and its events").action((id: string, options: AdminOptions) =>
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

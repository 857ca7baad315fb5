import { stat } from "node:fs/promises";
import type { Command } from "commander";
import type { SchemaStatus } from "@patchbay/control-plane/admin";
import { databaseUrl, requireDatabase } from "../database.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import { option } from "../options.ts";
import { print, printJson } from "../output.ts";
import { table } from "../table.ts";
import { adminCommand, type AdminOptions, databaseCommand, type Task } from "./administer.ts";

/** `backup`, and `db`: commands for a database that no server uses. */
export function addDatabaseCommands(program: Command): void {
  adminCommand(program, "backup <file>", "write a consistent copy of the embedded database, while it runs", {
    arguments: { file: "path for the copy; an existing path is refused" },
    examples: ["patchbay backup backups/2026-11-21.db --data-dir /var/lib/patchbay"],
    async work({ store, args: [file] }: Task) {
      await store.backup(file);
      return { file, sizeBytes: (await stat(file)).size };
    },
    show: ({ file, sizeBytes }) => `Wrote ${file} (${sizeBytes} bytes).`,
  });

  const db = program.command("db").description("inspect, migrate and restore a database");
  addMigrationCommands(db);
  databaseCommand(db, "restore <file>", "replace the embedded database with a backup", {
    arguments: { file: "copy that `backup` wrote" },
    options: [
      option("--force", "replace a database that exists; without it the command refuses"),
      option("--discard", "delete the replaced database; without it, it stays as patchbay.db.before-restore"),
    ],
    examples: ["patchbay db restore backups/2026-11-21.db --data-dir /var/lib/patchbay --force"],
  }).action(async (file: string, options: AdminOptions & { force?: true; discard?: true }) => {
    const { restoreBackup } = await import("@patchbay/control-plane/admin");
    const { force = false, discard = false } = options;
    const restored = await restoreBackup(databaseUrl(options), file, { force, discard });
    if (options.json) return printJson({ file, ...restored });
    const { database, replaced } = restored;
    const kept = replaced === undefined ? "" : ` The database before is ${replaced}.`;
    print(`Restored ${database} from ${file}.${kept} ${endedRuns(restored.endedRuns)}`);
  });
  databaseCommand(db, "end-runs", "end a restored database's open runs, so that none continues from an earlier state", {
    examples: ["patchbay db end-runs --database postgres://patchbay@db/patchbay   # after pg_restore, before serve"],
  }).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: false });
    const { endOpenRuns } = await import("@patchbay/control-plane/admin");
    const ended = await endOpenRuns(databaseUrl(options));
    if (options.json) printJson({ endedRuns: ended });
    else print(endedRuns(ended));
  });
}

/** `db status` and `db migrate`: the schema, apart from the start of a server. */
function addMigrationCommands(db: Command): void {
  databaseCommand(db, "status", "show the database's migrations; exit 1 if this version cannot serve it as it is", {
    examples: ["patchbay db status --database postgres://patchbay@db/patchbay"],
  }).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: false });
    const { inspectStore } = await import("@patchbay/control-plane/admin");
    const found = await inspectStore(databaseUrl(options));
    if (options.json) printJson(found);
    else print(shownStatus(found));
    const fault = faultOf(found);
    if (fault) throw new CommandFailure(fault);
  });
  databaseCommand(db, "migrate", "migrate the database to this version's schema, as `serve` does at its start", {
    examples: [
      "patchbay db migrate --database postgres://patchbay@db/patchbay   # before the first new replica starts",
    ],
  }).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: true });
    const { inspectStore, openStore } = await import("@patchbay/control-plane/admin");
    const url = databaseUrl(options);
    const before = await inspectStore(url);
    await (await openStore(url)).close();
    if (options.json) printJson({ database: before.database, migrated: before.pending });
    else print(before.pending.length === 0 ? "Nothing to migrate." : `Migrated: ${before.pending.join(", ")}.`);
  });
}

const shownStatus = ({ database, applied, pending, unknown }: SchemaStatus): string =>
  [
    database,
    table(
      ["migration", "state"],
      [
        ...applied.filter((name) => !unknown.includes(name)).map((name) => [name, "applied"]),
        ...unknown.map((name) => [name, "of a newer version"]),
        ...pending.map((name) => [name, "pending"]),
      ],
      "",
    ),
  ].join("\n");

function faultOf({ pending, unknown }: SchemaStatus): string | undefined {
  if (unknown.length > 0)
    return "A newer version of Patchbay has used this database. Start that version, or restore a backup made before it.";
  if (pending.length === 0) return undefined;
  return `Migrations are pending: ${pending.length}. Run \`patchbay db migrate\`, or start \`patchbay serve\`, which migrates too.`;
}

const endedRuns = (count: number): string =>
  count === 1 ? "Ended 1 run that was in progress." : `Ended ${count} runs that were in progress.`;

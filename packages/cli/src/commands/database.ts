import { stat } from "node:fs/promises";
import type { Command } from "commander";
import type { SchemaStatus } from "@patchbay/control-plane/admin";
import { databaseUrl, requireDatabase } from "../database.ts";
import { CommandFailure } from "../failure.ts";
import { examples, option } from "../options.ts";
import { print, printJson } from "../output.ts";
import { table } from "../table.ts";
import { adminCommand, administer, type AdminOptions } from "./administer.ts";

/** `backup`, and `db`: commands for a database that no server uses. */
export function addDatabaseCommands(program: Command): void {
  const backup = adminCommand(
    program,
    "backup <file>",
    "write a consistent copy of the embedded database, while it runs",
    { file: "path of the copy; a path that exists is refused" },
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

  const db = program.command("db").description("inspect, migrate and restore a database");
  addMigrationCommands(db);
  const restore = adminCommand(db, "restore <file>", "replace the embedded database with a backup", {
    file: "copy that `backup` wrote",
  })
    .addOption(option("--force", "replace a database that exists; without it the command refuses"))
    .action(async (file: string, options: AdminOptions & { force?: true }) => {
      const { restoreBackup } = await import("@patchbay/control-plane/admin");
      const restored = await restoreBackup(databaseUrl(options), file, { force: options.force ?? false });
      if (options.json) printJson({ file, ...restored });
      else print(`Restored ${restored.database} from ${file}. ${endedRuns(restored.endedRuns)}`);
    });
  examples(restore, "patchbay db restore backups/2026-11-21.db --data-dir /var/lib/patchbay --force");
  const description = "end the open runs of a restored database, so that none continues from an earlier state";
  const end = adminCommand(db, "end-runs", description).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: false });
    const { endOpenRuns } = await import("@patchbay/control-plane/admin");
    const ended = await endOpenRuns(databaseUrl(options));
    if (options.json) printJson({ endedRuns: ended });
    else print(endedRuns(ended));
  });
  examples(end, "patchbay db end-runs --database postgres://patchbay@db/patchbay   # after pg_restore, before serve");
}

/** `db status` and `db migrate`: the schema, apart from the start of a server. */
function addMigrationCommands(db: Command): void {
  const status = adminCommand(
    db,
    "status",
    "show the migrations of the database; exit 1 if this version cannot serve it as it is",
  ).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: false });
    const { inspectStore } = await import("@patchbay/control-plane/admin");
    const found = await inspectStore(databaseUrl(options));
    if (options.json) printJson(found);
    else print(shownStatus(found));
    const fault = faultOf(found);
    if (fault) throw new CommandFailure(fault);
  });
  examples(status, "patchbay db status --database postgres://patchbay@db/patchbay");
  const migrate = adminCommand(
    db,
    "migrate",
    "bring the database to the schema of this version, as a start of `serve` does",
  ).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: true });
    const { inspectStore, openStore } = await import("@patchbay/control-plane/admin");
    const url = databaseUrl(options);
    const before = await inspectStore(url);
    await (await openStore(url)).close();
    const result = { database: before.database, migrated: before.pending };
    if (options.json) printJson(result);
    else print(before.pending.length === 0 ? "Nothing to migrate." : `Migrated: ${before.pending.join(", ")}.`);
  });
  examples(
    migrate,
    "patchbay db migrate --database postgres://patchbay@db/patchbay   # before the first new replica starts",
  );
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

import { stat } from "node:fs/promises";
import type { Command } from "commander";
import type { SchemaStatus } from "@patchbay/control-plane/admin";
import { databaseUrl, requireDatabase } from "../database.ts";
import { option } from "../options.ts";
import { table } from "../table.ts";
import { adminCommand, databaseCommand } from "./administer.ts";

/** `backup`, and `db`: commands for a database that no server uses. */
export function addDatabaseCommands(program: Command): void {
  adminCommand(program, "backup <file>", "write a consistent copy of the embedded database, while it runs", {
    arguments: { file: "path for the copy; an existing path is refused" },
    examples: ["patchbay backup backups/2026-11-21.db --data-dir /var/lib/patchbay"],
    async work({ store, args: [file] }) {
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
    async work({ args: [file], options }) {
      const { restoreBackup } = await import("@patchbay/control-plane/admin");
      const { force = false, discard = false } = options;
      return { file, ...(await restoreBackup(databaseUrl(options), file, { force, discard })) };
    },
    show({ file, database, replaced, endedRuns }) {
      const kept = replaced === undefined ? "" : ` The database before is ${replaced}.`;
      return `Restored ${database} from ${file}.${kept} ${shownEnd(endedRuns)}`;
    },
  });
  databaseCommand(db, "end-runs", "end a restored database's open runs, so that none continues from an earlier state", {
    examples: ["patchbay db end-runs --database postgres://patchbay@db/patchbay   # after pg_restore, before serve"],
    async work({ options }) {
      requireDatabase(options, { mayCreate: false });
      const { endOpenRuns } = await import("@patchbay/control-plane/admin");
      return { endedRuns: await endOpenRuns(databaseUrl(options)) };
    },
    show: ({ endedRuns }) => shownEnd(endedRuns),
  });
}

/** `db status` and `db migrate`: the schema, apart from the start of a server. */
function addMigrationCommands(db: Command): void {
  databaseCommand(db, "status", "show the database's migrations; exit 1 if this version cannot serve it as it is", {
    examples: ["patchbay db status --database postgres://patchbay@db/patchbay"],
    async work({ options }) {
      requireDatabase(options, { mayCreate: false });
      const { inspectStore } = await import("@patchbay/control-plane/admin");
      return await inspectStore(databaseUrl(options));
    },
    show: shownStatus,
    fault: faultOf,
  });
  databaseCommand(db, "migrate", "migrate the database to this version's schema, as `serve` does at its start", {
    examples: [
      "patchbay db migrate --database postgres://patchbay@db/patchbay   # before the first new replica starts",
    ],
    async work({ options }) {
      requireDatabase(options, { mayCreate: true });
      const { inspectStore, openStore } = await import("@patchbay/control-plane/admin");
      const url = databaseUrl(options);
      const { database, pending } = await inspectStore(url);
      await (await openStore(url)).close();
      return { database, migrated: pending };
    },
    show: ({ migrated }) => (migrated.length === 0 ? "Nothing to migrate." : `Migrated: ${migrated.join(", ")}.`),
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

const shownEnd = (count: number): string =>
  count === 1 ? "Ended 1 run that was in progress." : `Ended ${count} runs that were in progress.`;

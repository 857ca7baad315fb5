import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { databaseUrl, requireDatabase } from "../database.ts";
import { examples, option } from "../options.ts";
import { print, printJson } from "../output.ts";
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

  const db = program.command("db").description("restore a database while no server uses it");
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

const endedRuns = (count: number): string =>
  count === 1 ? "Ended 1 run that was in progress." : `Ended ${count} runs that were in progress.`;

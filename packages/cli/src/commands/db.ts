import type { Command } from "commander";
import { databaseUrl, requireDatabase } from "../database.ts";
import { examples, option } from "../options.ts";
import { printJson, say } from "../output.ts";
import { adminCommand, type AdminOptions } from "./administer.ts";

/** `db`: what is done to a database while no server uses it. */
export function addDatabaseCommands(program: Command): void {
  const db = program.command("db").description("restore a database, while no server uses it");
  const restore = adminCommand(db, "restore <file>", "put a backup in place of the embedded database")
    .addOption(option("--force", "replace the database that is there"))
    .action(async (file: string, options: AdminOptions & { force?: true }) => {
      const { restoreBackup } = await import("@patchbay/control-plane");
      const restored = await restoreBackup(databaseUrl(options), file, { force: options.force ?? false });
      if (options.json) printJson({ file, ...restored });
      else say(`Restored ${restored.database} from ${file}. ${endedRuns(restored.endedRuns)}`);
    });
  examples(restore, "patchbay db restore backups/2026-11-21.db --data-dir /var/lib/patchbay --force");
  const description = "end the open runs of a restored database, so that none goes on from an earlier state";
  const end = adminCommand(db, "end-runs", description).action(async (options: AdminOptions) => {
    requireDatabase(options, { mayCreate: false });
    const { endOpenRuns } = await import("@patchbay/control-plane");
    const ended = await endOpenRuns(databaseUrl(options));
    if (options.json) printJson({ endedRuns: ended });
    else say(endedRuns(ended));
  });
  examples(end, "patchbay db end-runs --database postgres://patchbay@db/patchbay   # after pg_restore, before serve");
}

const endedRuns = (count: number): string =>
  count === 1 ? "Ended 1 run that was in progress." : `Ended ${count} runs that were in progress.`;

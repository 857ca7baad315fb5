import type { Admin, Store } from "@patchbay/control-plane";
import type { Command } from "commander";
import { databaseUrl, type DatabaseOptions } from "../database.ts";
import { databaseOption, dataDirOption, jsonOption } from "../options.ts";
import { paint, printJson, say } from "../output.ts";
import { readTiers } from "../tiers-file.ts";

export interface AdminOptions extends DatabaseOptions {
  tiers?: string;
  json?: true;
}

/** A command that works straight on the database, also beside a running server. */
export function adminCommand(parent: Command, nameAndArguments: string, description: string): Command {
  return parent
    .command(nameAndArguments)
    .description(description)
    .addOption(databaseOption())
    .addOption(dataDirOption())
    .addOption(jsonOption());
}

/** Opens the database for `work` and prints its result: as JSON, or as `show` puts it for people. */
export async function administer<T extends object>(
  options: AdminOptions,
  work: (admin: Admin, store: Store) => Promise<T>,
  show: (result: T) => string,
): Promise<void> {
  const { createAdmin, openStore } = await import("@patchbay/control-plane");
  const tiers = options.tiers === undefined ? undefined : await readTiers(options.tiers);
  const store = await openStore(databaseUrl(options));
  try {
    const result = await work(createAdmin({ store, ...(tiers && { tiers }) }), store);
    if (options.json) printJson(result);
    else say(show(result));
  } finally {
    await store.close();
  }
}

/** Under a secret that is never shown again. */
export const SHOWN_ONCE = paint("yellow", "This is shown once: keep it now, as a secret.");

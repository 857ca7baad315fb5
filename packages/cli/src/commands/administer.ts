import { existsSync } from "node:fs";
import type { Admin, Store } from "@patchbay/control-plane";
import type { Command } from "commander";
import { databaseFile, databaseUrl, requireDatabase, type DatabaseOptions } from "../database.ts";
import { databaseOption, dataDirOption, jsonOption } from "../options.ts";
import { readPrices, readTiers } from "../option-file.ts";
import { paint, printJson, say, tell } from "../output.ts";

export interface AdminOptions extends DatabaseOptions {
  tiers?: string;
  prices?: string;
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

/**
 * Opens the database for `work` and prints its result: as JSON, or as `show` puts it for people. A database that is not there
 * is made only by commands that begin a new one, which say so.
 */
export async function administer<T extends object>(
  options: AdminOptions,
  work: (admin: Admin, store: Store) => Promise<T>,
  show: (result: T) => string,
  { mayCreate = false }: { mayCreate?: boolean } = {},
): Promise<void> {
  requireDatabase(options, { mayCreate });
  const file = databaseFile(options);
  const isNew = file !== undefined && !existsSync(file);
  const { createAdmin, openStore } = await import("@patchbay/control-plane");
  const tiers = options.tiers === undefined ? undefined : await readTiers(options.tiers);
  const prices = options.prices === undefined ? undefined : await readPrices(options.prices);
  const store = await openStore(databaseUrl(options));
  if (isNew) tell(`Made a new database: ${file}`);
  try {
    const result = await work(createAdmin({ store, prices, ...(tiers && { tiers }) }), store);
    if (options.json) printJson(result);
    else say(show(result));
  } finally {
    await store.close();
  }
}

/** Under a secret that is never shown again. */
export const SHOWN_ONCE = paint("yellow", "This is shown once: keep it now, as a secret.");

import { existsSync } from "node:fs";
import type { Admin } from "@patchbay/control-plane";
import type { OpenStore } from "@patchbay/control-plane/admin";
import type { Command } from "commander";
import { databaseFile, databaseUrl, requireDatabase, type DatabaseOptions } from "../database.ts";
import { databaseOption, dataDirOption, jsonOption, readPrices, readTiers } from "../options.ts";
import { paint, print, printJson, printStatus } from "../output.ts";
import { growWithWork } from "../startup.ts";

export interface AdminOptions extends DatabaseOptions {
  tiers?: string;
  prices?: string;
  json?: true;
}

/** A command that works directly on the database, also while a server runs. `arguments` describes each argument by name. */
export function adminCommand(
  parent: Command,
  nameAndArguments: string,
  description: string,
  arguments_: Readonly<Record<string, string>> = {},
): Command {
  const command = parent
    .command(nameAndArguments)
    .description(description)
    .addOption(databaseOption())
    .addOption(dataDirOption())
    .addOption(jsonOption());
  for (const argument of command.registeredArguments) argument.description = arguments_[argument.name()] ?? "";
  return command;
}

/**
 * Opens the database for `work` and prints its result as JSON, or as `show` formats it for people. Only commands with
 * `mayCreate` create a missing database: a mistyped --data-dir would otherwise give an empty list.
 */
export async function administer<T extends object>(
  options: AdminOptions,
  work: (admin: Admin, store: OpenStore) => Promise<T>,
  show: (result: T) => string,
  { mayCreate = false }: { mayCreate?: boolean } = {},
): Promise<void> {
  const result = await withAdmin(options, work, { mayCreate });
  if (options.json) printJson(result);
  else print(show(result));
}

/** Opens the database for `work`, which prints by itself. */
export async function withAdmin<T>(
  options: AdminOptions,
  work: (admin: Admin, store: OpenStore) => Promise<T>,
  { mayCreate = false }: { mayCreate?: boolean } = {},
): Promise<T> {
  requireDatabase(options, { mayCreate });
  const file = databaseFile(options);
  const isNew = file !== undefined && !existsSync(file);
  const { createAdmin, openStore } = await import("@patchbay/control-plane/admin");
  growWithWork();
  const tiers = options.tiers === undefined ? undefined : await readTiers(options.tiers);
  const prices = options.prices === undefined ? undefined : await readPrices(options.prices);
  const store = await openStore(databaseUrl(options));
  if (isNew) printStatus(`Created a new database: ${file}`);
  try {
    return await work(createAdmin({ store, prices, ...(tiers && { tiers }) }), store);
  } finally {
    await store.close();
  }
}

/** Printed below a secret or a one-time link. */
export const SHOWN_ONCE = paint("yellow", "Shown only once: store it as a secret now.");

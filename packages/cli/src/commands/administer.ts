import { existsSync } from "node:fs";
import type { Admin } from "@patchbay/control-plane";
import type { OpenStore } from "@patchbay/control-plane/admin";
import type { Command, Option } from "commander";
import { databaseFile, databaseUrl, requireDatabase, type DatabaseOptions } from "../database.ts";
import { addOptions, databaseOption, dataDirOption, examples, jsonOption, readPrices, readTiers } from "../options.ts";
import { paint, print, printJson, printStatus } from "../output.ts";
import { growWithWork } from "../startup.ts";
import { fields } from "../table.ts";

export interface AdminOptions extends DatabaseOptions {
  tiers?: string;
  prices?: string;
  json?: true;
}

/** A command line. */
interface Line<Options> {
  options: AdminOptions & Options;
  /** The arguments, which commander has required. */
  args: [first: string, second: string];
}

/** A command line, and the opened database. */
export interface Task<Options = unknown> extends Line<Options> {
  admin: Admin;
  store: OpenStore;
}

interface AdminCommand<Options, Result> {
  /** Describes each argument by name. */
  arguments?: Readonly<Record<string, string>>;
  options?: readonly Option[];
  examples?: readonly string[];
  /**
   * Whether the command creates a missing database. Only some do: a mistyped --data-dir would otherwise give an empty list.
   */
  mayCreate?: (options: Options) => boolean;
  /** Refuses wrong usage before the database is opened. */
  check?: (options: Options, refuse: (message: string) => never) => void;
  work: (task: Task<Options>) => Promise<Result>;
  /** The result for people. With `--json`, it is printed as JSON. */
  show: (result: Result, line: Line<Options>) => string;
}

/** Adds a command without an action that works directly on the database, also while a server runs. */
export function databaseCommand(
  parent: Command,
  nameAndArguments: string,
  description: string,
  more: Pick<AdminCommand<never, never>, "arguments" | "options" | "examples"> = {},
): Command {
  const command = parent
    .command(nameAndArguments)
    .description(description)
    .addOption(databaseOption())
    .addOption(dataDirOption())
    .addOption(jsonOption());
  for (const argument of command.registeredArguments) argument.description = more.arguments?.[argument.name()] ?? "";
  addOptions(command, more.options ?? []);
  return more.examples ? examples(command, ...more.examples) : command;
}

/** Adds a command that opens the database, and prints what its work returns. */
export function adminCommand<Options, Result extends object>(
  parent: Command,
  nameAndArguments: string,
  description: string,
  own: AdminCommand<Options, Result>,
): Command {
  const { mayCreate, check, work, show } = own;
  const command = databaseCommand(parent, nameAndArguments, description, own);
  return command.action(async () => {
    const line = { options: command.opts<AdminOptions & Options>(), args: command.args as Line<Options>["args"] };
    check?.(line.options, (message) => command.error(`error: ${message}`));
    const run = (admin: Admin, store: OpenStore) => work({ ...line, admin, store });
    const result = await withAdmin(line.options, run, { mayCreate: mayCreate?.(line.options) ?? false });
    if (line.options.json) printJson(result);
    else print(show(result, line));
  });
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

/** An object's members, without those that are null. */
export const shownMembers = (found: object, textOf: (value: unknown) => string = String): string =>
  fields(
    Object.entries(found)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, textOf(value)]),
  );

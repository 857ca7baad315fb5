import { existsSync } from "node:fs";
import type { Admin } from "@patchbay/control-plane";
import type { OpenStore } from "@patchbay/control-plane/admin";
import type { Command, Option } from "commander";
import { readEnvironment } from "../config.ts";
import { readProvidersFile } from "../providers-file.ts";
import { databaseFile, databaseUrl, requireDatabase, type DatabaseOptions } from "../database.ts";
import { present } from "@patchbay/kit";
import { CommandFailure } from "@patchbay/loading/failure";
import {
  addOptions,
  databaseOption,
  dataDirOption,
  examples,
  jsonOption,
  type Parsed,
  readPrices,
  readTiers,
} from "../options.ts";
import { paint, print, printJson, printStatus } from "../output.ts";
import { growWithWork } from "../startup.ts";
import { fields } from "../table.ts";

export interface AdminOptions extends DatabaseOptions {
  tiers?: string;
  prices?: string;
  providers?: string;
  json?: true;
}

/** A command line. */
interface Line<Options> {
  options: AdminOptions & Options;
  /** The arguments, which commander has required. */
  args: [first: string, second: string];
  /** Ends the command as wrongly used. */
  refuse: (message: string) => never;
}

/** A command line, and the opened database. */
export interface Task<Options = unknown> extends Line<Options> {
  admin: Admin;
  store: OpenStore;
}

interface Described<Given extends Option> {
  /** Describes each argument by name. */
  arguments?: Readonly<Record<string, string>>;
  options?: readonly Given[];
  examples?: readonly string[];
}

interface Action<Options, Work extends Line<Options>, Result> {
  work: (task: Work) => Promise<Result>;
  /** The result for people. With `--json`, it is printed as JSON. */
  show: (result: Result, line: Line<Options>) => string;
  /** Why the command exits with 1 although it has a result. */
  fault?: (result: Result) => string | undefined;
}

/** Adds a command without an action that works directly on the database, also while a server runs. */
export function describeCommand<Given extends Option>(
  parent: Command,
  nameAndArguments: string,
  description: string,
  more: Described<Given> = {},
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

/** Adds a command that opens the database by itself, and prints what its work returns. */
export function databaseCommand<Given extends Option, Result extends object>(
  parent: Command,
  nameAndArguments: string,
  description: string,
  own: Described<Given> & Action<Parsed<Given>, Line<Parsed<Given>>, Result>,
): Command {
  const { work, show, fault } = own;
  const command = describeCommand(parent, nameAndArguments, description, own);
  return command.action(async () => {
    const line: Line<Parsed<Given>> = {
      options: command.opts(),
      args: command.args as [string, string],
      refuse: (message) => command.error(`error: ${message}`),
    };
    const result = await work(line);
    if (line.options.json) printJson(result);
    else print(show(result, line));
    const reason = fault?.(result);
    if (reason !== undefined) throw new CommandFailure(reason);
  });
}

/** Adds a command that works on the opened database, and prints what its work returns. */
export function adminCommand<Given extends Option, Result extends object>(
  parent: Command,
  nameAndArguments: string,
  description: string,
  own: Described<Given> &
    Action<Parsed<Given>, Task<Parsed<Given>>, Result> & {
      /**
       * Whether the command creates a missing database. Only some do: a mistyped --data-dir would otherwise give an empty
       * list.
       */
      mayCreate?: (options: Parsed<Given>) => boolean;
      /** Refuses wrong usage before the database is opened. */
      check?: (options: Parsed<Given>, refuse: (message: string) => never) => void;
    },
): Command {
  const { mayCreate, check, work, ...more } = own;
  return databaseCommand<Given, Result>(parent, nameAndArguments, description, {
    ...more,
    async work(line) {
      const { options, refuse } = line;
      check?.(options, refuse);
      const run = (admin: Admin, store: OpenStore) => work({ ...line, admin, store });
      return await withAdmin(options, run, { mayCreate: mayCreate?.(options) ?? false });
    },
  });
}

/** Opens the database for `work`, which prints by itself. */
export async function withAdmin<T>(
  options: AdminOptions,
  work: (admin: Admin, store: OpenStore) => Promise<T>,
  { mayCreate = false, readOnly = false }: { mayCreate?: boolean; readOnly?: boolean } = {},
): Promise<T> {
  requireDatabase(options, { mayCreate });
  const file = databaseFile(options);
  const isNew = file !== undefined && !existsSync(file);
  const { createAdmin, createModelCatalog, openStore } = await import("@patchbay/control-plane/admin");
  growWithWork();
  const [tiers, prices] = [await readTiers(options.tiers), await readPrices(options.prices)];
  const named = options.providers
    ? (await readProvidersFile(options.providers, readEnvironment())).settings
    : undefined;
  const models = named && createModelCatalog({ ...present({ endpoints: named.endpoints, prices }) });
  const store = await openStore(databaseUrl(options), { readOnly });
  if (isNew) printStatus(`Created a new database: ${file}`);
  try {
    return await work(createAdmin({ store, prices, ...present({ tiers, models }) }), store);
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

import type { CANCEL_SYMBOL } from "@clack/prompts";
import { existsSync, readdirSync } from "node:fs";
import { join, basename, resolve } from "node:path";
import type { Host } from "./config.ts";
import { CreateFailure } from "./failure.ts";
import type { CreateOptions } from "./options.ts";
import { nameFault } from "./package-json.ts";

export interface Decisions {
  /** Absolute. */
  folder: string;
  name: string;
  install: boolean;
  /** Files in the folder that may be replaced. */
  replaced: string[];
}

const DEFAULT_FOLDER = "my-service";

/** Decides what the options leave open: asks in a terminal, otherwise uses defaults. Writes nothing. */
export async function decide(
  options: CreateOptions,
  { terminal, workingFolder, packageManager }: Host,
  filesOf: (name: string) => string[],
): Promise<Decisions> {
  const asked = options.yes ? undefined : terminal;
  const named = options.folder ?? (asked && (await askFolder(asked))) ?? DEFAULT_FOLDER;
  const folder = resolve(workingFolder, named);
  const name = await decideName(options.name, folder, asked);
  const existing = entriesOf(folder);
  const replaced = filesOf(name).filter((file) => existsSync(join(folder, file)));
  if (existing.length > 0 && !options.overwrite) await confirmFolder(folder, existing, replaced, asked);
  const install =
    options.install !== false &&
    (asked === undefined ||
      (await answered(({ confirm }) =>
        confirm({ ...asked, message: `Install the packages with ${packageManager}?` }),
      )));
  return { folder, name, install, replaced };
}

type Terminal = NonNullable<Host["terminal"]>;
type Prompts = typeof import("@clack/prompts");

async function answered<T>(ask: (prompts: Prompts) => Promise<T | typeof CANCEL_SYMBOL>): Promise<T> {
  // Imported here because each start of the `patchbay` command imports this module.
  const prompts = await import("@clack/prompts");
  const answer = await ask(prompts);
  if (prompts.isCancel(answer)) throw new CreateFailure(CANCELLED);
  return answer;
}

const CANCELLED = "Cancelled; nothing was written.";

function askFolder(terminal: Terminal): Promise<string> {
  const shown = { placeholder: DEFAULT_FOLDER, defaultValue: DEFAULT_FOLDER };
  return answered(({ text }) => text({ ...terminal, ...shown, message: "Service folder" }));
}

async function decideName(given: string | undefined, folder: string, asked: Terminal | undefined): Promise<string> {
  const name = given ?? basename(folder);
  const fault = nameFault(name);
  if (fault === undefined) return name;
  if (given === undefined && asked)
    return answered(({ text }) =>
      text({
        ...asked,
        message: `Name of the service. ${fault}`,
        initialValue: similarName(name),
        validate: nameFault,
      }),
    );
  throw new CreateFailure(given === undefined ? `${fault} Name the service with --name.` : fault);
}

/** `my-shop` for `My Shop!`. */
const similarName = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[^a-z0-9]+|-+$/g, "");

/** Folder entries that a service could replace or mix with; none if the folder does not exist. */
function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name !== ".git" && name !== ".DS_Store");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    if (code === "ENOTDIR") throw new CreateFailure(`${folder} is a file. Name a folder.`);
    throw new CreateFailure(`The folder ${folder} cannot be read (${code}). Name another one.`);
  }
}

const MAX_NAMED = 5;

async function confirmFolder(
  folder: string,
  existing: readonly string[],
  replaced: readonly string[],
  asked: Terminal | undefined,
): Promise<void> {
  const more = existing.length > MAX_NAMED ? ` and ${existing.length - MAX_NAMED} more` : "";
  const state = `The folder ${folder} is not empty: it contains ${existing.slice(0, MAX_NAMED).join(", ")}${more}.`;
  const effect = replaced.length === 0 ? "replaces none of them" : `replaces ${replaced.join(", ")}`;
  if (!asked)
    throw new CreateFailure(
      `${state} Name another folder, or pass --overwrite to write into this one, which ${effect}.`,
    );
  const message = `${state} Write the service into it? This ${effect}.`;
  if (!(await answered(({ confirm }) => confirm({ ...asked, message, initialValue: false }))))
    throw new CreateFailure(CANCELLED);
}

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AccessChange, AccessLock } from "@patchbay/functions/access";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import { lockPathOf } from "../../lock-file.ts";
import { paint, print, printJson } from "../../output.ts";
import type { SearchedCode } from "./search.ts";
import { nearPath } from "../../service-file.ts";
import { functionSources } from "../pin.ts";

/**
 * Compares the access with the lock and the never-list next to the service. Throws a CommandFailure on any difference.
 * `strict`: also for missing cases, anonymous calls and changed texts. `searchCode`: accepts changed `authorize` code if
 * the search finds no call that it allows and that was denied before.
 */
export async function checkLock(
  path: string,
  now: AccessLock,
  { json, strict, searchCode, untested }: StrictCheck,
): Promise<void> {
  const { compareAccess, findUnrefused } = await import("@patchbay/functions/access");
  const { file, lock } = await readLock(path);
  const all = compareAccess(lock, now);
  // A default in the context concerns all functions.
  const every = Object.keys(now.functions);
  const changed = all.filter(isSearchable).flatMap(({ functionName }) => functionName ?? every);
  const searched = searchCode && changed.length > 0 ? await searchCode({ lock: file, names: changed }) : undefined;
  const isPassed = ({ functionName }: AccessChange) =>
    [functionName ?? every].flat().every((name) => searched?.passed.has(name));
  const changes = all.filter((change) => !(isSearchable(change) && isPassed(change)));
  const passed = [...(searched?.passed ?? [])].map(([functionName, scope]) => ({ functionName, scope }));
  const forbidden = await forbiddenBy(path, now);
  const unrefused = strict ? findUnrefused(now) : [];
  const cases = strict ? await untested() : [];
  const drift = (await functionSources()).flatMap((source) => source.drift().map(({ sentence }) => sentence));
  const failing = changes.filter(({ kind }) => strict || kind !== "changed");
  const ok = failing.length === 0 && forbidden.length + unrefused.length + cases.length + drift.length === 0;
  if (json)
    printJson({
      ok,
      file,
      changes,
      forbidden,
      ...(strict && { unrefused, untested: cases }),
      ...(drift.length > 0 && { drift }),
      ...(passed.length > 0 && { searched: passed }),
    });
  else
    print(
      [
        ...passed.map(searchedLine),
        ...(searched?.others ?? []),
        ...forbidden.map(forbiddenLine),
        ...drift.map((sentence) => labelled("red", "drift", sentence)),
        ...changes.map(line),
        ...unrefused.map((name) =>
          labelled("red", "untested", `${name} is decided call by call, and no case of it is refused`),
        ),
        ...cases.map((text) => paint("red", text)),
        ...(ok ? [`Access matches ${file}.`] : []),
      ].join("\n"),
    );
  refuse(path, forbidden);
  if (drift.length > 0) {
    const count = drift.length === 1 ? "One tool differs" : `${drift.length} tools differ`;
    throw new CommandFailure(
      `${count} from the lock file of its MCP server or API. Read the difference, and accept it with patchbay pin.`,
    );
  }
  if (failing.length > 0) {
    const count = failing.length === 1 ? "One difference" : `${failing.length} differences`;
    throw new CommandFailure(`${count} from ${file}. If intended, run with --write and commit the file.`);
  }
  if (ok) return;
  if (unrefused.length === 0)
    throw new CommandFailure(
      `${cases.length === 1 ? "One gap" : `${cases.length} gaps`} in the cases. Add the cases that are missing.`,
    );
  const count = unrefused.length === 1 ? "One function has" : `${unrefused.length} functions have`;
  throw new CommandFailure(`${count} no refused case. Add a case that must be denied.`);
}

/** Writes the lock, and prints the changes since the previous one, or none if that was missing or malformed. */
export async function saveLock(path: string, now: AccessLock, { json }: { json?: true }): Promise<void> {
  const { compareAccess, writeLock } = await import("@patchbay/functions/access");
  const forbidden = await forbiddenBy(path, now);
  if (!json && forbidden.length > 0) print(forbidden.map(forbiddenLine).join("\n"));
  refuse(path, forbidden);
  const before = await readLock(path).catch(() => undefined);
  const { file } = lockFileOf(path);
  await writeFile(file, writeLock(now));
  const changes = before === undefined ? [] : compareAccess(before.lock, now);
  if (json) return printJson({ file, functions: Object.keys(now.functions).length, changes });
  for (const change of changes) print(line(change));
  print(`Wrote ${file}.`);
}

interface StrictCheck {
  json?: true;
  strict?: true;
  searchCode: CodeSearch | undefined;
  /** Finds what the cases do not show, for `strict`. */
  untested: () => Promise<string[]>;
}

export type CodeSearch = (asked: { lock: string; names: readonly string[] }) => Promise<SearchedCode>;

/** True for changed code that decides calls, and changed defaults. Code in a result schema decides none, so that a search shows nothing. */
export function isSearchable({ kind, about, functionName }: AccessChange): boolean {
  if (kind !== "unproven") return false;
  return about === "parsing" || (functionName !== undefined && (about === "authorize" || about === "approval"));
}

const KINDS = { widening: "red", unproven: "red", changed: "yellow", narrowing: "yellow" } as const;

const labelled = (colour: "red" | "yellow" | "green", kind: string, text: string): string =>
  `${paint(colour, kind.padEnd(9))}  ${text}`;
const line = ({ kind, sentence }: AccessChange): string => labelled(KINDS[kind], kind, sentence);
const forbiddenLine = (sentence: string): string => labelled("red", "forbidden", sentence);
const searchedLine = ({ functionName, scope }: { functionName: string; scope: string }): string =>
  labelled(
    "green",
    "searched",
    `${functionName}: its code or defaults changed, and allow no call that was denied (${scope})`,
  );

const fileOf = (path: string) => ({ file: nearPath(path), exists: existsSync(path) });

/** A service file's lock file. */
export const lockFileOf = (servicePath: string) => fileOf(lockPathOf(servicePath));

/** The list with what the service may never grant. */
const neverFileOf = (servicePath: string) => fileOf(join(dirname(servicePath), "access.never.json"));

/** Reads the lock next to a service file. Throws with a fix when it is missing or malformed. */
async function readLock(servicePath: string): Promise<{ file: string; lock: AccessLock }> {
  const { file, exists } = lockFileOf(servicePath);
  if (!exists) throw new CommandFailure(`No ${file} to compare with. Create it with --write and commit it.`);
  const { parseLock } = await import("@patchbay/functions/access");
  try {
    return { file, lock: parseLock(await readFile(file, "utf8")) };
  } catch (error) {
    throw new CommandFailure(
      `${file} is not an access lock: ${reasonOf(error)}. Restore it, or replace it with --write.`,
    );
  }
}

/** What the never-list next to a service file forbids and the service grants. Empty without a list. */
export async function forbiddenBy(servicePath: string, now: AccessLock): Promise<string[]> {
  const { file, exists } = neverFileOf(servicePath);
  if (!exists) return [];
  const { findForbidden, parseNever } = await import("@patchbay/functions/access");
  try {
    return findForbidden(parseNever(await readFile(file, "utf8")), now);
  } catch (error) {
    throw new CommandFailure(`${file} is not a never-list: ${reasonOf(error)}. Correct it.`);
  }
}

function refuse(servicePath: string, forbidden: readonly string[]): void {
  if (forbidden.length === 0) return;
  const { file } = neverFileOf(servicePath);
  const count = forbidden.length === 1 ? "One rule" : `${forbidden.length} rules`;
  throw new CommandFailure(`${count} of ${file} broken. Change the service; --write does not accept it.`);
}

import { existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { canonicalJson, isJsonObject, type JsonValue, present } from "@patchbay/kit";
import { DefinitionError } from "./errors.ts";
import type { Log } from "./log.ts";
import { addFunctionSource, type Drift, serviceFolder } from "./sources.ts";

/** What another party says about one function: its texts, its schemas, and whatever else decides what a call does. */
export interface ForeignDefinition {
  readonly name: string;
}

/** What one server offers. */
export interface Offered<D extends ForeignDefinition = ForeignDefinition> {
  /** The server's identity. A different one means that another program answers. */
  server: string;
  /** How the server is reached, without secrets, where its identity is only what it says about itself. */
  start?: string;
  definitions: readonly D[];
}

/** What an owner accepted from one server. */
interface Pinned {
  server: string;
  /** Absent in files of earlier versions, which accept any. */
  start?: string | undefined;
  tools: Record<string, ForeignDefinition>;
}

interface LockFile {
  version: 1;
  servers: Record<string, Pinned>;
}

/** The words for a source in messages. */
export interface SourceTerms {
  /** Such as `MCP server`. */
  kind: string;
  /** One definition, such as `tool`. */
  part: string;
  /** Introduces the server's identity, such as `the server names itself`. */
  identity: string;
}

/**
 * The definitions that an owner accepted from the server `name`, in the file `lock`, which is relative to the service
 * file's folder. Throws `DefinitionError` for a file that is not a lock file. Without a file, every definition is accepted.
 */
export function createSourceLock(terms: SourceTerms, name: string, lock: string | URL | undefined) {
  const path = lock === undefined ? undefined : lockPath(lock);
  const pinned = path === undefined ? undefined : readPinned(path, name);
  return {
    /** The accepted ones among what the server offers. Warns of the others. */
    accepted<D extends ForeignDefinition>({ server, start, definitions }: Offered<D>, log: Log): readonly D[] {
      if (path === undefined) return definitions;
      const isServer = pinned?.server === server && (pinned.start ?? start) === start;
      const isPinned = (one: D) => isServer && isSameDefinition(ownTool(pinned, one.name), one);
      const accepted = definitions.filter(isPinned);
      const leftOut = definitions.filter((one) => !accepted.includes(one));
      const { kind, part } = terms;
      const then = "Read the difference and accept it with: patchbay pin FILE, where FILE is the service file.";
      if (pinned === undefined)
        log.warn(`no function of the ${kind} is offered, because ${path} has no definitions of it. ${then}`);
      else if (leftOut.length > 0)
        log.warn(`${part}s of the ${kind} differ from ${path} and are not offered. ${then}`, {
          [`${part}s`]: leftOut.map((one) => one.name),
        });
      return accepted;
    },
    /** Lets `patchbay pin` and `patchbay access` find the source. The returned function removes it. */
    register(offered: () => Offered): () => void {
      /** The definitions that the owner read last, so that nothing else is accepted. */
      let shown: Pinned | undefined;
      return addFunctionSource({
        kind: terms.kind,
        name,
        lockFile: path,
        drift() {
          if (path === undefined) return [];
          shown = toPinned(offered());
          return compare({ ...terms, name, path }, readPinned(path, name), shown);
        },
        async pin() {
          if (path !== undefined) await writePinned(path, name, shown ?? toPinned(offered()));
        },
      });
    },
  };
}

export const isSameDefinition = (a: ForeignDefinition | undefined, b: ForeignDefinition | undefined): boolean =>
  a !== undefined && b !== undefined && canonicalJson({ ...a }) === canonicalJson({ ...b });

function toPinned({ server, start, definitions }: Offered): Pinned {
  const sorted = definitions.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { server, ...present({ start }), tools: Object.fromEntries(sorted.map((one) => [one.name, one])) };
}

function lockPath(lock: string | URL): string {
  if (lock instanceof URL || lock.startsWith("file:")) return fileURLToPath(lock);
  return isAbsolute(lock) ? lock : resolve(serviceFolder() ?? process.cwd(), lock);
}

/** The file's entry for a server. Undefined if the file, or the server in it, is missing. */
function readPinned(path: string, name: string): Pinned | undefined {
  const { servers } = readLock(path);
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** Accepts a server's definitions. The file's other servers stay as they are. */
async function writePinned(path: string, name: string, pinned: Pinned): Promise<void> {
  const { servers } = readLock(path);
  const sorted = Object.entries({ ...servers, [name]: pinned }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, `${JSON.stringify({ version: 1, servers: Object.fromEntries(sorted) }, undefined, 2)}\n`);
  await rename(temporary, path);
}

function readLock(path: string): LockFile {
  if (!existsSync(path)) return { version: 1, servers: {} };
  const refuse = (reason: string) =>
    new DefinitionError(
      `${path} is not a lock file of patchbay pin: ${reason}. Restore it, or delete it and run patchbay pin.`,
    );
  let read: Partial<LockFile>;
  try {
    read = JSON.parse(readFileSync(path, "utf8")) as Partial<LockFile>;
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  const { version, servers } = read;
  if (version !== 1) throw refuse(`its version is ${JSON.stringify(version)}, and this release reads version 1`);
  const isComplete = ({ server, tools }: Partial<Pinned>) => typeof server === "string" && isJsonObject(tools);
  if (!isJsonObject(servers) || !Object.values(servers).every((one) => isJsonObject(one) && isComplete(one)))
    throw refuse("a server in it has no tools");
  return { version, servers };
}

/** A definition by name. The name may match a member that every object inherits. */
const ownTool = (pinned: Pinned | undefined, name: string): ForeignDefinition | undefined =>
  pinned && Object.hasOwn(pinned.tools, name) ? pinned.tools[name] : undefined;

/** How a server's definitions differ from the accepted ones. */
function compare(
  { kind, part, identity, name, path }: SourceTerms & { name: string; path: string },
  before: Pinned | undefined,
  now: Pinned,
): Drift[] {
  const where = relative(process.cwd(), path);
  const file = where.startsWith("..") ? path : where;
  const source = `${kind} "${name}"`;
  const of = (tool: string) => `${source}: the ${part} "${tool}"`;
  const moved = (["server", "start"] as const).flatMap((member): Drift[] => {
    const [old, current] = [before?.[member], now[member]];
    if (old === undefined || old === current) return [];
    const stated = member === "server" ? identity : "it is started as";
    const sentence = `${source}: ${stated} ${JSON.stringify(current)}, and ${file} is for ${JSON.stringify(old)}`;
    return [{ sentence, before: { [member]: old }, after: { ...present({ [member]: current }) } }];
  });
  const names = [...new Set([...Object.keys(before?.tools ?? {}), ...Object.keys(now.tools)])].toSorted();
  const changed = names.flatMap((tool): Drift[] => {
    const [old, current] = [ownTool(before, tool), ownTool(now, tool)];
    if (isSameDefinition(old, current)) return [];
    if (current === undefined)
      return [{ sentence: `${of(tool)} is in ${file}, and is not offered any more`, before: { ...old } }];
    if (old === undefined) return [{ sentence: `${of(tool)} is not in ${file}`, after: { ...current } }];
    const members = changedMembers(old, current);
    const pick = (one: object) =>
      Object.fromEntries(Object.entries(one).filter(([member]) => members.includes(member)));
    return [
      {
        sentence: `${of(tool)} differs from ${file} in its ${members.join(", ")}`,
        before: pick(old),
        after: pick(current),
      },
    ];
  });
  return [...moved, ...changed];
}

function changedMembers(a: object, b: object): string[] {
  const valueOf = (one: object, member: string) =>
    canonicalJson((one as Readonly<Record<string, JsonValue | undefined>>)[member] ?? null);
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (member) => valueOf(a, member) !== valueOf(b, member),
  );
}

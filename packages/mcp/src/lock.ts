import { existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { DefinitionError } from "@patchbay/functions";
import { canonicalJson, serviceFolder, type Drift } from "@patchbay/functions/sources";
import { isSameDefinition, type ToolDefinition } from "./tool.ts";

/** What an owner accepted from one server. */
export interface Pinned {
  /** The server's own name. A different name means that another program answers. */
  server: string;
  tools: Record<string, ToolDefinition>;
}

interface LockFile {
  version: 1;
  servers: Record<string, Pinned>;
}

/** A lock file's absolute path. A relative one starts at the service file's folder. */
export function lockPath(lock: string | URL): string {
  if (lock instanceof URL || lock.startsWith("file:")) return fileURLToPath(lock);
  return isAbsolute(lock) ? lock : resolve(serviceFolder() ?? process.cwd(), lock);
}

/** The file's entry for a server. Undefined if the file, or the server in it, is missing. */
export function readPinned(path: string, name: string): Pinned | undefined {
  const { servers } = readLock(path);
  return Object.hasOwn(servers, name) ? servers[name] : undefined;
}

/** Accepts a server's tools. The file's other servers stay as they are. */
export async function writePinned(path: string, name: string, pinned: Pinned): Promise<void> {
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
      `${path} is not a lock file of MCP servers: ${reason}. Restore it, or delete it and run patchbay pin.`,
    );
  let read: Partial<LockFile>;
  try {
    read = JSON.parse(readFileSync(path, "utf8")) as Partial<LockFile>;
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  const { version, servers } = read;
  if (version !== 1) throw refuse(`its version is ${JSON.stringify(version)}, and this release reads version 1`);
  const isComplete = ({ server, tools }: Partial<Pinned>) => typeof server === "string" && isObject(tools);
  if (!isObject(servers) || !Object.values(servers).every((one) => isObject(one) && isComplete(one)))
    throw refuse("a server in it has no tools");
  return { version, servers };
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** A tool from a file or a server, by name. The name may match a member that every object inherits. */
export const ownTool = (pinned: Pinned | undefined, name: string): ToolDefinition | undefined =>
  pinned && Object.hasOwn(pinned.tools, name) ? pinned.tools[name] : undefined;

/** How a server's tools differ from the accepted ones. */
export function compare(name: string, path: string, before: Pinned | undefined, now: Pinned): Drift[] {
  const where = relative(process.cwd(), path);
  const file = where.startsWith("..") ? path : where;
  const of = (tool: string) => `MCP server "${name}": the tool "${tool}"`;
  const renamed: Drift[] =
    before && before.server !== now.server
      ? [
          {
            sentence: `MCP server "${name}": the server names itself ${JSON.stringify(now.server)}, and ${file} is for ${JSON.stringify(before.server)}`,
            before: { server: before.server },
            after: { server: now.server },
          },
        ]
      : [];
  const names = [...new Set([...Object.keys(before?.tools ?? {}), ...Object.keys(now.tools)])].toSorted();
  const changed = names.flatMap((tool): Drift[] => {
    const [old, current] = [ownTool(before, tool), ownTool(now, tool)];
    if (isSameDefinition(old, current)) return [];
    if (current === undefined)
      return [{ sentence: `${of(tool)} is in ${file}, and the server does not offer it any more`, before: { ...old } }];
    if (old === undefined) return [{ sentence: `${of(tool)} is not in ${file}`, after: { ...current } }];
    const members = changedMembers(old, current);
    const pick = (one: ToolDefinition) =>
      Object.fromEntries(Object.entries(one).filter(([member]) => members.includes(member)));
    return [
      {
        sentence: `${of(tool)} differs from ${file} in its ${members.join(", ")}`,
        before: pick(old),
        after: pick(current),
      },
    ];
  });
  return [...renamed, ...changed];
}

function changedMembers(a: ToolDefinition, b: ToolDefinition): string[] {
  const valueOf = (one: ToolDefinition, member: string) =>
    canonicalJson((one as unknown as Record<string, never>)[member] ?? null);
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (member) => valueOf(a, member) !== valueOf(b, member),
  );
}

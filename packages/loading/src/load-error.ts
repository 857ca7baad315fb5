import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { fileURLToPath } from "node:url";
import { CommandFailure } from "./failure.ts";
import { isOwners } from "./owners.ts";

/** A position in an owner's file, counted from 1. */
export interface Place {
  path: string;
  line: number;
  column: number;
}

const places = new WeakMap<Error, Place>();
const maps = new Map<string, SourceMap>();

/** Records the owner's position for an error whose stack lacks it. */
export function notePlace(error: Error, place: Place): void {
  places.set(error, place);
}

export const hasPlace = (error: Error): boolean => places.has(error);

/** Keeps a compiled file's source map, for parser errors: they name lines in the compiled code. */
export function rememberMap(path: string, map: object): void {
  maps.set(path, new SourceMap(map as SourceMapPayload));
}

/** Why a file did not load, for people: the error and its position in the owner's own code. */
export function describeLoadError(error: unknown, path: string): string {
  if (error instanceof CommandFailure) return error.message;
  if (!(error instanceof Error)) return `${path} threw ${String(error)} while it was loaded.`;
  const stack = error.stack ?? "";
  const isSyntax = error instanceof SyntaxError;
  const place = places.get(error) ?? (isSyntax ? placeInHeader(stack) : undefined) ?? placeInFrames(stack);
  // Node adds the files that required a missing file, one per line.
  const message = error.message.split("\nRequire stack:")[0];
  const where = place ? `${place.path}:${place.line}:${place.column}` : path;
  return `${where}: ${error.name}: ${message}${isSyntax && place ? excerptAt(place) : ""}`;
}

/** The stack's first position in an owner's file. */
function placeInFrames(stack: string): Place | undefined {
  for (const frame of stack.matchAll(/^\s+at (?:.*\()?(file:\/\/\/.*?|\/.*?):(\d+):(\d+)\)?$/gm)) {
    const [, file = "", line, column] = frame;
    const path = toPath(file);
    if (isOwners(path)) return { path, line: Number(line), column: Number(column) };
  }
  return undefined;
}

/** A syntax error's position: Node writes the file, the code line and a mark under it before the message. */
function placeInHeader(stack: string): Place | undefined {
  const [, file, line, indent] = /^(file:\/\/\/.*|\/.*):(\d+)\n.*\n([ \t]*)\^/.exec(stack) ?? [];
  if (file === undefined || !isOwners(toPath(file))) return undefined;
  return originalPlace({ path: toPath(file), line: Number(line), column: (indent?.length ?? 0) + 1 });
}

/** Maps a position in compiled code to the owner's file. */
export function originalPlace(place: Place): Place {
  const original = maps.get(place.path)?.findEntry(place.line - 1, place.column - 1);
  if (!original || !("originalLine" in original)) return place;
  return { path: place.path, line: original.originalLine + 1, column: original.originalColumn + 1 };
}

const toPath = (file: string): string => (file.startsWith("file:") ? fileURLToPath(file) : file);

function excerptAt({ path, line, column }: Place): string {
  const code = readFileSync(path, "utf8").split("\n")[line - 1] ?? "";
  return `\n${code}\n${code.slice(0, column - 1).replaceAll(/[^\t]/g, " ")}^`;
}

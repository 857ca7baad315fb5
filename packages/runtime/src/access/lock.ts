import { createHash } from "node:crypto";
import { type AccessLock, type CaseDecision, type LockedCell, type LockedFunction, readLock } from "@patchbay/protocol";
import { type AccessChange, accessSurface, byName, compareAccess as compare } from "@patchbay/access";
import { canonicalJson, type JsonObject, type Steps } from "@patchbay/kit";
import { COMPARISON_STEPS, mapSchema } from "@patchbay/schema";
import type { FunctionAccess, OwnersCode, Service } from "../service.ts";
import { accessMatrix, type AccessMatrix, type Cell, compareTexts, type FunctionRow } from "./matrix.ts";

/**
 * A fingerprint for code that decides on access: equal if neither it nor the owner's code that it uses has changed.
 * Undefined without code.
 */
export type Fingerprint = (code: readonly OwnersCode[]) => string | undefined;

/** Options for {@link lockOf}. */
export interface LockOptions {
  /** Default: computed. */
  matrix?: AccessMatrix;
  /** Default: the lock has no fingerprints, because only the command `patchbay access` knows the owner's files. */
  fingerprint?: Fingerprint;
}

/** A service's lock: what its code allows now. It does not depend on the definition order in the code. */
export async function lockOf(service: Service, options: LockOptions = {}): Promise<AccessLock> {
  const { matrix = await accessMatrix(service), fingerprint } = options;
  // The service's manifest lacks schemas if the service is too large to send them.
  const functions = [...service.access.values()].map(({ manifest }) => manifest);
  const surface = accessSurface({ ...service.manifest, functions });
  const rows = new Map(matrix.functions.map((row) => [row.name, row]));
  const locked = [...service.access].map(([name, fn]): [string, LockedFunction] => [
    name,
    lockFunction(surface.functions[name]!, fn, rows.get(name)!, fingerprint),
  ]);
  const { context } = surface;
  const { instructions } = service.manifest;
  const { context: _, subject: __, ...guards } = service.code();
  const code = fingerprint?.(service.code()["subject"] ?? []);
  const checks = fingerprint && (fingerprint(service.code()["context"] ?? []) ?? "none");
  return {
    ...surface,
    ...(typeof context === "object" && { context: normalForm(context) }),
    ...(checks !== undefined && { contextCode: checks }),
    ...(fingerprint && { code: printsOf(guards, fingerprint) }),
    parsing: byName(Object.entries(service.parsing())),
    texts: byName(instructions === undefined ? [] : [["instructions", hashOf(instructions)]]),
    ...(service.manifest.namesSubject === true && {
      subject: { ...(code !== undefined && { code }), cases: await subjectsOf(service) },
    }),
    functions: byName(locked),
  };
}

function lockFunction(
  surface: LockedFunction,
  { manifest, parsing, output, code }: FunctionAccess,
  { cells }: FunctionRow,
  fingerprint: Fingerprint | undefined,
): LockedFunction {
  const { roles: _, input, output: described, ...rest } = surface;
  return {
    ...rest,
    roles: byName(Object.entries(cells).map(lockCell)),
    ...(input !== undefined && { input: normalForm(input) }),
    ...(fingerprint && { code: printsOf(code(), fingerprint) }),
    // `{}`: the library cannot write the schema as JSON Schema.
    output: output === undefined || normalForm(typeof described === "object" ? described : {}),
    parsing: byName(Object.entries(parsing())),
    texts: textsOf(manifest),
  };
}

function printsOf(code: Readonly<Record<string, OwnersCode[]>>, fingerprint: Fingerprint): Record<string, string> {
  const prints = Object.entries(code).map(([part, some]) => [part, fingerprint(some)] as const);
  return byName(prints.filter((print): print is [string, string] => print[1] !== undefined));
}

const TEXTS = /"(?:title|description)":"(?:[^"\\]|\\.)*"/g;

/** Hashes, because a lock has no texts. */
function textsOf({ description, inputSchema, openWorld = false }: FunctionAccess["manifest"]): Record<string, string> {
  const texts = [description, ...(JSON.stringify(inputSchema).match(TEXTS) ?? [])];
  return { description: hashOf(JSON.stringify(texts)), openWorld: String(openWorld) };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);

/** The same schema, whatever its member order in the code. */
function normalForm(schema: JsonObject): JsonObject {
  const sorted = mapSchema(schema, (of) =>
    Array.isArray(of["required"]) ? { ...of, required: (of["required"] as string[]).toSorted(compareTexts) } : of,
  );
  return JSON.parse(canonicalJson(sorted)) as JsonObject;
}

function lockCell([role, cell]: [string, Cell]): [string, LockedCell] {
  if (cell.access === "hidden") return [role, "hidden"];
  const members = byName(cell.hides.map((path): [string, "removed"] => [path, "removed"]));
  const marked = cell.hides.length > 0;
  if (cell.access !== "conditional") return [role, marked ? { access: "allowed", members } : "allowed"];
  const cases = Object.entries(cell.cases).map(([name, { decision }]): [string, CaseDecision] => [name, decision]);
  return [role, { access: "conditional", cases: byName(cases), ...(marked && { members }) }];
}

/** The subject for each different context in the cases, as a label: the lock contains no data. */
async function subjectsOf(service: Service): Promise<Record<string, string>> {
  const contexts = new Map<string, { name: string; context: Parameters<Service["prepare"]>[0]["context"] }>();
  for (const name of [...service.access.keys()].sort())
    for (const [caseName, { context }] of [...service.access.get(name)!.cases].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const text = JSON.stringify(context);
      if (!contexts.has(text)) contexts.set(text, { name: `${name}.${caseName}`, context });
    }
  const labels = new Map<string | undefined, string>();
  const found: [string, string][] = [];
  for (const { name, context } of contexts.values()) {
    const prepared = await service.prepare({ context });
    if (!prepared.ok) continue;
    const { subject } = prepared;
    const label = labels.get(subject) ?? (subject === undefined ? "none" : `subject ${labels.size + 1}`);
    labels.set(subject, label);
    found.push([name, label]);
  }
  return byName(found);
}

/** A lock file's text. Equal for equal access. Short lists are on one line. */
export function writeLock(lock: AccessLock): string {
  const text = JSON.stringify(lock, null, 2);
  const short = text.replace(/\[\s+([^[\]{}]*?)\s+\]/g, (list, items: string) => {
    const line = `[${items.split(/,\n\s+/).join(", ")}]`;
    return line.length <= LINE ? line : list;
  });
  return `${short}\n`;
}

const LINE = 90;

/** Parses a lock file's text in any version. Throws an error with the reason if it is invalid. */
export function parseLock(text: string): AccessLock {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError(`it is not JSON (${cause instanceof Error ? cause.message : String(cause)})`, { cause });
  }
  const read = readLock(json);
  if ("lock" in read) return read.lock;
  throw new TypeError(read.fault);
}

/**
 * Steps for an owner's comparison, about 5 s: 100 times as many as on the control plane, where many tenants share a
 * process.
 */
export const ownersSteps = (): Steps => ({ left: 100 * COMPARISON_STEPS });

/** Every difference between two locks, function by function. What it cannot decide is `unproven`. */
export const compareAccess = (before: AccessLock, after: AccessLock): AccessChange[] =>
  compare(before, after, ownersSteps());

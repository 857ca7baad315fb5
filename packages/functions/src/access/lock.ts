import { z } from "zod";
import { compareTexts, type AccessMatrix, type Cell } from "./matrix.ts";

/** Objects and no lists: one line each in a diff, however a formatter likes its lists. */
const Members = z.record(z.string(), z.literal("removed"));

const LockedCell = z.union([
  z.enum(["allowed", "hidden"]),
  z.strictObject({ access: z.literal("allowed"), members: Members }),
  z.strictObject({
    access: z.literal("conditional"),
    cases: z.record(z.string(), z.enum(["allowed", "denied"])),
    members: Members.optional(),
  }),
]);
/** What is kept of one function for one role. */
export type LockedCell = z.infer<typeof LockedCell>;

const AccessLock = z.strictObject({
  version: z.literal(1),
  defaultRole: z.string().optional(),
  hooks: z.partialRecord(z.enum(["beforeQuery", "beforeAnswer"]), z.literal("runs")).optional(),
  functions: z.record(z.string(), z.record(z.string(), LockedCell)),
});

/** What of an access matrix is kept in a file, by function and role: decisions alone, no texts and no data. */
export type AccessLock = z.infer<typeof AccessLock>;

/** What of a matrix is kept: the same for the same access, in whatever order the code names things. */
export function lockOf(matrix: AccessMatrix): AccessLock {
  const { defaultRole, hooks, functions } = matrix;
  return {
    version: 1,
    ...(defaultRole !== undefined && { defaultRole }),
    ...(hooks.length > 0 && { hooks: Object.fromEntries(hooks.map((hook) => [hook, "runs"])) }),
    functions: sorted(functions.map(({ name, cells }) => [name, sorted(Object.entries(cells).map(lockCell))])),
  };
}

/** The text of a lock file: the same for the same access, whatever the order in the code. */
export function writeLock(lock: AccessLock): string {
  return `${JSON.stringify(lock, null, 2)}\n`;
}

/** Reads the text of a lock file. Throws with a reason when it is none. */
export function parseLock(text: string): AccessLock {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError(`it is no JSON (${cause instanceof Error ? cause.message : String(cause)})`, { cause });
  }
  const checked = AccessLock.safeParse(json);
  if (checked.success) return checked.data;
  const { path, message } = checked.error.issues[0]!;
  throw new TypeError(`${path.length === 0 ? "" : `${path.join(".")}: `}${message}`);
}

function lockCell([role, cell]: [string, Cell]): [string, LockedCell] {
  if (cell.access === "hidden") return [role, "hidden"];
  const members = sorted(cell.hides.map((path): [string, "removed"] => [path, "removed"]));
  const marked = cell.hides.length > 0;
  if (cell.access === "allowed") return [role, marked ? { access: "allowed", members } : "allowed"];
  const cases = Object.entries(cell.cases).map(([name, { allowed }]): [string, "allowed" | "denied"] => [
    name,
    allowed ? "allowed" : "denied",
  ]);
  return [role, { access: "conditional", cases: sorted(cases), ...(marked && { members }) }];
}

function sorted<T>(entries: [string, T][]): Record<string, T> {
  return Object.fromEntries(entries.sort(([a], [b]) => compareTexts(a, b)));
}

import { AccessLock, type LockedCell } from "@patchbay/protocol";
import { type AccessMatrix, type Cell, compareTexts, NO_ROLE } from "./matrix.ts";

/** The lock of a matrix. It does not depend on the order of definitions in the code. */
export function lockOf(matrix: AccessMatrix): AccessLock {
  const { defaultRole, hooks, functions } = matrix;
  return {
    version: 1,
    ...(defaultRole !== undefined && { defaultRole }),
    ...(hooks.length > 0 && { hooks: Object.fromEntries(hooks.map((hook) => [hook, "runs"])) }),
    functions: sorted(functions.map(({ name, cells }) => [name, sorted(Object.entries(cells).map(lockCell))])),
  };
}

/** The text of a lock file. Equal for equal access. */
export function writeLock(lock: AccessLock): string {
  return `${JSON.stringify(lock, null, 2)}\n`;
}

/** Parses the text of a lock file. Throws an error with the reason if it is invalid. */
export function parseLock(text: string): AccessLock {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new SyntaxError(`it is not JSON (${cause instanceof Error ? cause.message : String(cause)})`, { cause });
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

/** One difference between a lock and the current access. */
export interface AccessChange {
  /** `widening`: a role may call or see more than before, or this is no longer known. `narrowing`: everything else. */
  kind: "widening" | "narrowing";
  /** Such as `customer gained cancel_order`. */
  sentence: string;
}

type Cells = Record<string, LockedCell>;

/** Every difference, function by function. Empty if access is the same as in the lock. */
export function compareAccess(locked: AccessLock, matrix: AccessMatrix): AccessChange[] {
  const now = lockOf(matrix);
  const names = [...new Set([...Object.keys(locked.functions), ...Object.keys(now.functions)])].sort(compareTexts);
  return [
    ...compareDefaultRole(locked.defaultRole, now.defaultRole),
    ...compareHooks(locked.hooks, now.hooks),
    ...compareRoles(locked, now),
    ...names.flatMap((name) => compareFunction(name, own(locked.functions, name), own(now.functions, name))),
  ];
}

const widening = (sentence: string): AccessChange => ({ kind: "widening", sentence });
const narrowing = (sentence: string): AccessChange => ({ kind: "narrowing", sentence });

function compareDefaultRole(before: string | undefined, after: string | undefined): AccessChange[] {
  if (before === after) return [];
  if (after === undefined) return [narrowing(`a query without a role no longer counts as ${before}`)];
  return [widening(`a query without a role now counts as ${after}`)];
}

function compareHooks(before: AccessLock["hooks"] = {}, after: AccessLock["hooks"] = {}): AccessChange[] {
  return [
    ...Object.keys(before)
      .filter((hook) => !Object.hasOwn(after, hook))
      .map((hook) => widening(`hook ${hook} is gone`)),
    ...Object.keys(after)
      .filter((hook) => !Object.hasOwn(before, hook))
      .map((hook) => narrowing(`hook ${hook} is new`)),
  ];
}

function compareRoles(locked: AccessLock, now: AccessLock): AccessChange[] {
  const before = rolesIn(locked);
  const after = rolesIn(now);
  // Without functions there are no columns, so the roles cannot be compared.
  if (before.size === 0 || after.size === 0) return [];
  return [
    ...[...after].filter((role) => !before.has(role)).map((role) => narrowing(`role ${role} is new`)),
    ...[...before].filter((role) => !after.has(role)).map((role) => narrowing(`role ${role} is gone`)),
  ];
}

function rolesIn({ functions }: AccessLock): Set<string> {
  return new Set(Object.values(functions).flatMap((cells) => Object.keys(cells)));
}

function compareFunction(name: string, before: Cells | undefined, after: Cells | undefined): AccessChange[] {
  if (before === undefined && after !== undefined) return [widening(`function ${name} is new: ${openTo(after)}`)];
  if (after === undefined || before === undefined) return [narrowing(`function ${name} is gone`)];
  const roles = [...new Set([NO_ROLE, ...Object.keys(before), ...Object.keys(after)])];
  return [
    ...compareCaseNames(name, before, after),
    ...roles.flatMap((role) => {
      const [was, is] = [cellFor(before, role), cellFor(after, role)];
      return [...compareCell(name, role, was, is), ...compareHides(name, role, was, is)];
    }),
  ];
}

/** The cell of a role. An unknown role has the access of a query without a role. */
function cellFor(cells: Cells, role: string): LockedCell {
  return own(cells, role) ?? own(cells, NO_ROLE) ?? "hidden";
}

/** Functions and roles may have the names of inherited properties. */
function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function openTo(cells: Cells): string {
  const open = Object.entries(cells).filter(([, cell]) => accessOf(cell) !== "hidden");
  const decided = open.some(([, cell]) => accessOf(cell) === "conditional") ? ", decided call by call" : "";
  const everyone = accessOf(cellFor(cells, NO_ROLE)) !== "hidden";
  return `open to ${everyone ? "everyone" : open.map(([role]) => role).join(", ")}${decided}`;
}

function compareCell(name: string, role: string, was: LockedCell, is: LockedCell): AccessChange[] {
  const [before, after] = [accessOf(was), accessOf(is)];
  if (before === "hidden" && after === "hidden") return [];
  if (before === "hidden")
    return [widening(`${who(role)} gained ${name}${after === "conditional" ? ", decided call by call" : ""}`)];
  if (after === "hidden") return [narrowing(`${who(role)} lost ${name}`)];
  if (before === "conditional" && after === "allowed")
    return [widening(`${who(role)} gained every call of ${name}: nothing decides call by call any more`)];
  if (before === "allowed" && after === "conditional")
    return [narrowing(`${who(role)} lost calls of ${name}: it is now decided call by call`)];
  return compareCases(name, role, casesOf(was), casesOf(is));
}

/** Changed verdicts of the cases in both. */
function compareCases(name: string, role: string, was: Verdicts, is: Verdicts): AccessChange[] {
  return Object.keys({ ...was, ...is }).flatMap((one) => {
    const [before, after] = [own(was, one), own(is, one)];
    if (before === undefined || after === undefined || before === after) return [];
    return after === "allowed"
      ? [widening(`${who(role)} gained case ${one} of ${name}`)]
      : [narrowing(`${who(role)} lost case ${one} of ${name}`)];
  });
}

/** Added and removed cases. They do not change access, but what is known about it. */
function compareCaseNames(name: string, before: Cells, after: Cells): AccessChange[] {
  const [was, is] = [verdictsByCase(before), verdictsByCase(after)];
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((one) => {
    const [old = new Map<string, string>(), fresh = new Map<string, string>()] = [was.get(one), is.get(one)];
    const added = [...fresh].filter(([role]) => !old.has(role) && accessOf(cellFor(before, role)) === "conditional");
    const dropped = [...old].filter(([role]) => !fresh.has(role) && accessOf(cellFor(after, role)) === "conditional");
    return [
      ...added.map(([role, verdict]) => {
        const sentence = `case ${one} of ${name} is new for ${who(role)}: ${verdict}`;
        return verdict === "allowed" ? widening(sentence) : narrowing(sentence);
      }),
      ...dropped.map(([role, verdict]) => {
        const sentence = `case ${one} of ${name} is gone for ${who(role)}: it was ${verdict}`;
        return verdict === "denied" ? widening(sentence) : narrowing(sentence);
      }),
    ];
  });
}

function verdictsByCase(cells: Cells): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const [role, cell] of Object.entries(cells))
    for (const [one, verdict] of Object.entries(casesOf(cell)))
      found.set(one, (found.get(one) ?? new Map<string, string>()).set(role, verdict));
  return found;
}

function compareHides(name: string, role: string, was: LockedCell, is: LockedCell): AccessChange[] {
  if (accessOf(was) === "hidden" || accessOf(is) === "hidden") return [];
  const [before, after] = [hidesOf(was), hidesOf(is)];
  return [
    ...before
      .filter((path) => !after.includes(path))
      .map((path) => widening(`${who(role)} now sees ${path} of ${name}`)),
    ...after
      .filter((path) => !before.includes(path))
      .map((path) => narrowing(`${who(role)} does not see ${path} of ${name}`)),
  ];
}

type Verdicts = Record<string, "allowed" | "denied">;

function accessOf(cell: LockedCell): "allowed" | "hidden" | "conditional" {
  return typeof cell === "string" ? cell : cell.access;
}

function casesOf(cell: LockedCell): Verdicts {
  return typeof cell !== "string" && cell.access === "conditional" ? cell.cases : {};
}

function hidesOf(cell: LockedCell): string[] {
  return typeof cell === "string" ? [] : Object.keys(cell.members ?? {});
}

function who(role: string): string {
  return role === NO_ROLE ? "a query without a role" : role;
}

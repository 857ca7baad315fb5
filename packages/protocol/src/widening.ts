import type { JsonObject } from "./json.ts";
import { rolesAllow, type FunctionManifest, type Manifest, type Roles } from "./manifest.ts";
import { widerPlaces, type Budget } from "./schema-widening.ts";
import { withOpenObjects } from "./subschemas.ts";

/** The subject of a widening. */
export type WideningKind =
  | "function"
  | "roles"
  | "authorize"
  | "redaction"
  | "input"
  | "output"
  | "defaultRole"
  | "subject"
  | "hook";

/** One way in which a function set gives a role more access than the set before it. */
export interface Widening {
  kind: WideningKind;
  /** Absent if the widening affects the whole service. */
  functionName?: string;
  /** One sentence with the names and values. */
  text: string;
}

/**
 * The access that `after` gives and `before` does not. A property that only newer runtimes send is unknown if it is absent, so its
 * absence is a widening only if `before` has it.
 */
export function widenings(before: Manifest, after: Manifest): Widening[] {
  const known = new Map(before.functions.map((one) => [one.name, one]));
  const budget: Budget = { steps: 400_000 };
  return [
    ...compareDefaultRole(before, after),
    ...compareSubject(before, after),
    ...compareHooks(before, after),
    ...after.functions.flatMap((one) => {
      const was = known.get(one.name);
      return was === undefined ? newFunction(one) : compareFunction(was, one, budget);
    }),
  ];
}

function compareDefaultRole(before: Manifest, after: Manifest): Widening[] {
  const [was, is] = [before.defaultRole, after.defaultRole];
  if (is === undefined || is === was) return [];
  const known = new Map(before.functions.map((one) => [one.name, one]));
  const gained = after.functions.filter((one) => {
    if (!rolesAllow(one.roles, is)) return false;
    const old = known.get(one.name);
    if (old === undefined || !rolesAllow(old.roles, was)) return true;
    // The decisions of an `authorize` for another role are unknown, so they count as wider.
    return one.conditional || mayRead(old, was, one, is);
  });
  if (gained.length === 0) return [];
  const change = `A query without a role now has the role ${quote(is)}${was === undefined ? "" : ` instead of ${quote(was)}`}`;
  return [{ kind: "defaultRole", text: `${change}, which may do more with ${list(gained.map(({ name }) => name))}.` }];
}

function compareSubject(before: Manifest, after: Manifest): Widening[] {
  if (before.namesSubject !== true || after.namesSubject === true) return [];
  const text =
    "The service no longer names a subject, so earlier turns about one subject are shown in queries about another.";
  return [{ kind: "subject", text }];
}

function compareHooks(before: Manifest, after: Manifest): Widening[] {
  const gone = (hook: "beforeQuery" | "beforeAnswer") => before[hook] === true && after[hook] !== true;
  return [
    ...(gone("beforeQuery") ? ["The service no longer has a beforeQuery hook, so it refuses no queries."] : []),
    ...(gone("beforeAnswer")
      ? ["The service no longer has a beforeAnswer hook, so answers are shown as the model writes them."]
      : []),
  ].map((text) => ({ kind: "hook", text }));
}

function newFunction({ name, roles }: FunctionManifest): Widening[] {
  if (isClosed(roles)) return [];
  return [{ kind: "function", functionName: name, text: `${name}: the function is new and open to ${open(roles)}.` }];
}

function compareFunction(before: FunctionManifest, after: FunctionManifest, budget: Budget): Widening[] {
  const { name, roles } = after;
  if (isClosed(roles)) return [];
  const as = (kind: WideningKind, sentence: string): Widening => ({
    kind,
    functionName: name,
    text: `${name}: ${sentence}`,
  });
  return [
    ...compareRoles(before.roles, roles).map((sentence) => as("roles", sentence)),
    ...(before.conditional && !after.conditional ? [as("authorize", "authorize no longer decides call by call.")] : []),
    ...compareRedactions(before, after).map((sentence) => as("redaction", sentence)),
    ...compareSchema("input", takenBy(before), takenBy(after), budget).map((sentence) => as("input", sentence)),
    ...compareOutput(before, after, budget).map((sentence) => as("output", sentence)),
  ];
}

function compareRoles(before: Roles, after: Roles): string[] {
  if (before === "everyone") return [];
  if (after === "everyone")
    return [`everyone may call it, ${before.length === 0 ? "before no role" : `before only ${open(before)}`}.`];
  const added = after.filter((role) => !before.includes(role));
  if (added.length === 0) return [];
  return [`${open(added)} ${added.length === 1 ? "is" : "are"} added to the roles.`];
}

function compareRedactions(before: FunctionManifest, after: FunctionManifest): string[] {
  if (before.redactions === undefined) {
    const gone = (before.restrictedFields ?? []).filter((name) => !after.restrictedFields?.includes(name));
    return gone.map((name) => `${quote(name)} of the result is no longer redacted.`);
  }
  return before.redactions.flatMap(({ path, roles }): string[] => {
    const readers = readersOf(after, path);
    if (readers === "everyone") return [`${quote(path)} of the result is no longer redacted.`];
    const gained = readers.filter((role) => !roles.includes(role));
    if (gained.length === 0) return [];
    return [`${quote(path)} of the result is no longer redacted for ${open(gained)}.`];
  });
}

/** The roles that may call the function and receive the value at a place of its results. */
function readersOf({ roles, redactions = [] }: FunctionManifest, path: string): Roles {
  const around = redactions.filter((one) => one.path === path || isWithin(path, one.path));
  if (around.length === 0) return roles;
  const readers = around[0]!.roles.filter((role) => around.every((one) => one.roles.includes(role)));
  return readers.filter((role) => rolesAllow(roles, role));
}

/** True if role `is` may read a place in the results of `after` that role `was` could not read in those of `before`. */
function mayRead(before: FunctionManifest, was: string | undefined, after: FunctionManifest, is: string): boolean {
  // Runtimes of an earlier version do not send the roles of redactions.
  if (before.redactions === undefined) return (before.restrictedFields ?? []).length > 0;
  return before.redactions.some(({ path, roles }) => !rolesAllow(roles, was) && rolesAllow(readersOf(after, path), is));
}

function isWithin(path: string, outer: string): boolean {
  return path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

/** The schema of the arguments that reach the handler. */
function takenBy({ inputSchema, keepsUnlisted }: FunctionManifest): JsonObject {
  return keepsUnlisted === true ? withOpenObjects(inputSchema) : inputSchema;
}

function compareOutput(before: FunctionManifest, after: FunctionManifest, budget: Budget): string[] {
  if (before.outputSchema === undefined) return [];
  if (after.outputSchema === undefined) return ["the output schema is removed, so the whole result is sent."];
  return compareSchema("output", before.outputSchema, after.outputSchema, budget);
}

const PLACES = 10;

function compareSchema(side: "input" | "output", before: JsonObject, after: JsonObject, budget: Budget): string[] {
  const places = widerPlaces(before, after, { results: side === "output", budget });
  const sentences = places.slice(0, PLACES).map(({ path, reason }) => {
    const where = path === "" ? "" : ` at ${quote(path)}`;
    return `the ${side} is wider${where}: ${reason}.`;
  });
  const more = places.length - sentences.length;
  return more === 0
    ? sentences
    : [...sentences, `the ${side} is wider in ${more} other ${more === 1 ? "place" : "places"}.`];
}

const NAMES = 5;

/** Shortens a name, and escapes control characters, which a terminal would interpret. */
function quote(name: string): string {
  return JSON.stringify(name.length <= 100 ? name : `${name.slice(0, 100)}…`);
}

function list(names: readonly string[]): string {
  if (names.length <= NAMES) return names.join(", ");
  return `${names.slice(0, NAMES).join(", ")} and ${names.length - NAMES} more`;
}

function open(roles: Roles): string {
  if (roles === "everyone") return "everyone";
  return `${roles.length === 1 ? "role" : "roles"} ${list(roles.map(quote))}`;
}

function isClosed(roles: Roles): boolean {
  return roles !== "everyone" && roles.length === 0;
}

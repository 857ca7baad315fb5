import type { AccessLock, LockedFunction } from "./access-lock.ts";
import { type AccessChange, cellFor, change, isHidden, own, quote, who } from "./access-sentences.ts";
import { compareDefaultRole } from "./access-default-role.ts";
import { compareApproval, compareCode, compareEffect, compareInput } from "./access-calls.ts";
import { compareOutput } from "./access-results.ts";
import { compareRoles } from "./access-roles.ts";
import { accessSurface, NO_ROLE } from "./access-surface.ts";
import type { Manifest } from "./manifest.ts";
import { compareSchemas, type Budget } from "./schema-widening.ts";

const VERSION_1 = "the lock has version 1, which records no schemas and no code, so changes of these are not found";

const NO_CODE = "the lock has no fingerprints of code, so changes of authorize are not found";

/** True if only the later state has fingerprints. A state of a connected function set never has them. */
function lacksFingerprints(before: AccessLock, after: AccessLock): boolean {
  return Object.entries(before.functions).some(
    ([name, { code }]) => code === undefined && own(after.functions, name)?.code !== undefined,
  );
}

/**
 * Every difference between two states of access, function by function. A schema and a fingerprint that one of the two
 * does not know are not compared.
 */
export function compareAccess(before: AccessLock, after: AccessLock): AccessChange[] {
  const budget: Budget = { steps: 400_000 };
  const names = [...new Set([...Object.keys(before.functions), ...Object.keys(after.functions)])].sort();
  return [
    ...(before.version === 1 ? [change("unproven", "lock", VERSION_1)] : []),
    ...(before.version === 2 && lacksFingerprints(before, after) ? [change("unproven", "lock", NO_CODE)] : []),
    ...compareDefaultRole(before, after),
    ...compareContext(before, after, budget),
    ...compareSubject(before.subject, after.subject),
    ...compareHooks(before.hooks, after.hooks),
    ...compareColumns(before, after),
    ...names.flatMap((name) =>
      compareFunction(name, own(before.functions, name), own(after.functions, name), budget).map((one) => ({
        ...one,
        functionName: name,
      })),
    ),
  ];
}

/** One way in which a function set gives a role more access than the set before it. */
export interface Widening {
  kind: AccessChange["about"];
  /** Absent if the widening affects the whole service. */
  functionName?: string;
  /** One sentence with the names and values. */
  text: string;
}

/** The access that `after` gives and `before` does not. What the comparison cannot decide counts as a widening. */
export function widenings(before: Manifest, after: Manifest): Widening[] {
  return (
    compareAccess(accessSurface(before), accessSurface(after))
      // A removed case changes what is known about a set, not what it allows.
      .filter(({ kind, about }) => kind !== "narrowing" && about !== "cases")
      .map(({ about, functionName, sentence }) => ({
        kind: about,
        ...(functionName !== undefined && { functionName }),
        text: `${sentence}.`,
      }))
  );
}

function compareContext(before: AccessLock, after: AccessLock, budget: Budget): AccessChange[] {
  const [was, is] = [before.context, after.context];
  if (was === undefined || was === is) return [];
  if (was === true)
    return is === undefined ? [] : [change("narrowing", "context", "the context of a query has a schema")];
  if (is === undefined || is === true)
    return [change("widening", "context", "the context of a query has no schema, so it may be any object")];
  const { wider, narrower } = compareSchemas(was, is, { budget });
  const where = (path: string) => (path === "" ? "" : ` at ${quote(path)}`);
  const isRecoded = before.contextCode !== after.contextCode && after.contextCode !== undefined;
  if (isRecoded && before.contextCode !== undefined && wider.length === 0)
    return [
      change("unproven", "context", "code in the schema of the context changed, which the comparison cannot judge"),
    ];
  if (wider.length === 0)
    return narrower
      .slice(0, 1)
      .map(({ path }) => change("narrowing", "context", `a query may carry less context${where(path)}`));
  return wider.map(({ path, reason, witness }) =>
    witness === undefined
      ? change("unproven", "context", `the context of a query changed${where(path)}: ${reason}`)
      : change("widening", "context", `a query may carry more context${where(path)}: ${reason}`),
  );
}

function compareSubject(was: AccessLock["subject"], is: AccessLock["subject"]): AccessChange[] {
  if (was === undefined || was === is) return [];
  if (is === undefined || is === false)
    return [
      change(
        "widening",
        "subject",
        "the service no longer names a subject, so earlier turns about one subject are shown in queries about another",
      ),
    ];
  if (was === false) return [change("narrowing", "subject", "the service names the subject of a query")];
  const names = Object.keys(was.cases).filter((name) => Object.hasOwn(is.cases, name));
  const joined = names.find((a) => names.some((b) => was.cases[a] !== was.cases[b] && is.cases[a] === is.cases[b]));
  if (joined !== undefined) {
    const other = names.find((b) => was.cases[joined] !== was.cases[b] && is.cases[joined] === is.cases[b])!;
    return [
      change(
        "widening",
        "subject",
        `cases ${joined} and ${other} have the same subject, so each sees earlier turns of the other`,
      ),
    ];
  }
  if (was.code === undefined || is.code === undefined || was.code === is.code) return [];
  return [change("unproven", "subject", "subject changed, and no case shows a difference")];
}

function compareHooks(before: AccessLock["hooks"] = {}, after: AccessLock["hooks"] = {}): AccessChange[] {
  const lacks = (hooks: object) => (hook: string) => !Object.hasOwn(hooks, hook);
  return [
    ...Object.keys(before)
      .filter(lacks(after))
      .map((hook) => change("widening", "hook", `hook ${hook} is gone`)),
    ...Object.keys(after)
      .filter(lacks(before))
      .map((hook) => change("narrowing", "hook", `hook ${hook} is new`)),
  ];
}

function compareColumns(before: AccessLock, after: AccessLock): AccessChange[] {
  const rolesIn = ({ functions }: AccessLock) =>
    new Set(Object.values(functions).flatMap(({ roles }) => Object.keys(roles)));
  const [was, is] = [rolesIn(before), rolesIn(after)];
  // Without functions there are no columns, so the roles cannot be compared.
  if (was.size === 0 || is.size === 0) return [];
  return [
    ...[...is]
      .filter((role) => !was.has(role))
      .map((role) => change("narrowing", "roles", `role ${quote(role)} is new`)),
    ...[...was]
      .filter((role) => !is.has(role))
      .map((role) => change("narrowing", "roles", `role ${quote(role)} is gone`)),
  ];
}

function compareFunction(
  name: string,
  before: LockedFunction | undefined,
  after: LockedFunction | undefined,
  budget: Budget,
): AccessChange[] {
  if (after === undefined) return [change("narrowing", "function", `function ${name} is gone`)];
  if (before === undefined) return newFunction(name, after);
  const roles = [...new Set([NO_ROLE, ...Object.keys(before.roles), ...Object.keys(after.roles)])];
  const callers = roles.filter((role) => !isHidden(cellFor(before, role)) && !isHidden(cellFor(after, role)));
  const decisions = compareRoles({ name, before, after, roles });
  const calls = { name, before, after, callers, budget };
  if (callers.length === 0) return decisions;
  return [
    ...decisions,
    ...compareCode(calls, decisions),
    ...compareApproval(calls),
    ...compareEffect(calls),
    ...compareInput(calls),
    ...compareOutput(calls),
  ];
}

function newFunction(name: string, { roles }: LockedFunction): AccessChange[] {
  const open = Object.keys(roles).filter((role) => !isHidden(roles[role]!));
  if (open.length === 0) return [change("narrowing", "function", `function ${name} is new: open to no role`)];
  const decided = open.some((role) => typeof roles[role] === "object" && roles[role].access === "conditional");
  const sentence = `function ${name} is new: open to ${who(open)}${decided ? ", decided call by call" : ""}`;
  return [change("widening", "function", sentence)];
}

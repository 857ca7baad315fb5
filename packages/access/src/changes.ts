import { type AccessLock, actsAs, type Inclusions, type LockedFunction, type Manifest } from "@patchbay/protocol";
import { type AccessChange, asks, cellFor, change, isHidden, list, own, quote, who } from "./sentences.ts";
import { compareDefaultRole } from "./default-role.ts";
import { compareGuards, compareParsing, compareTexts } from "./guards.ts";
import { compareApproval, compareCode, compareEffect, compareInput, isSameCode, compareToken } from "./calls.ts";
import { compareFlow } from "./flow/compare.ts";
import { compareOutput } from "./results.ts";
import { compareRoles } from "./roles.ts";
import { accessSurface, NO_ROLE } from "./surface.ts";
import { compareSchemas, COMPARISON_STEPS, TOO_MANY_STEPS, isSame } from "@patchbay/schema";
import { type Steps, takeSteps, within } from "@patchbay/kit";

const VERSION_1 = "the lock has version 1, which records no schemas and no code, so changes of these are not found";

const VERSION_2 = "the lock has version 2, which records no defaults, conversions, hooks and texts";

const NO_CODE = "the lock has no fingerprints of code, so changes of authorize are not found";

/** True if only the later state has fingerprints. A connected function set never has them. */
function lacksFingerprints(before: AccessLock, after: AccessLock): boolean {
  return Object.entries(before.functions).some(
    ([name, { code }]) => code === undefined && own(after.functions, name)?.code !== undefined,
  );
}

/** An access state: a lock, or a function set as far as its manifest describes it. */
type Access = AccessLock | Manifest;

/**
 * Every difference between two access states, function by function. Schemas and fingerprints that one state does not
 * know are not compared. What needs more `steps` than the whole comparison has is `unproven`, unless it did not change.
 */
export function compareAccess(before: Access, after: Access, steps?: Steps): AccessChange[] {
  const comparison = accessComparison(before, after, steps);
  for (;;) {
    const { done, value } = comparison.next();
    if (done) return value;
  }
}

/** {@link compareAccess} in pieces. A process does other work whenever the comparison yields. */
export function* accessComparison(
  before: Access,
  after: Access,
  steps: Steps = { left: COMPARISON_STEPS },
): Generator<undefined, AccessChange[]> {
  const lockOf = (access: Access): AccessLock | undefined =>
    "version" in access
      ? access
      : within(
          steps,
          steps.left,
          (own) => accessSurface(access, own),
          () => undefined,
        );
  const was = lockOf(before);
  yield;
  const is = was && lockOf(after);
  yield;
  if (is) return yield* compareLocks(was, is, steps);
  // The subject `input` concerns all calls: with that many changes, every function's access is unknown.
  return [change("unproven", "input", `the function sets cannot be compared: ${TOO_MANY_STEPS}`)];
}

function* compareLocks(before: AccessLock, after: AccessLock, steps: Steps): Generator<undefined, AccessChange[]> {
  const changes = [
    ...(before.version === 1 ? [change("unproven", "lock", VERSION_1)] : []),
    ...(before.version !== 1 && lacksFingerprints(before, after) ? [change("unproven", "lock", NO_CODE)] : []),
    ...(before.version === 2 && after.parsing !== undefined ? [change("unproven", "lock", VERSION_2)] : []),
    ...compareDefaultRole(before, after, steps),
    ...compareContext(before, after, steps),
    ...compareSubject(before.subject, after.subject),
    ...compareHooks(before.hooks, after.hooks),
    ...compareGuards(before, after),
    ...compareParsing("the context", before, after, true),
    ...compareColumns(before, after, steps),
    ...compareInclusions(before, after, steps),
  ];
  for (const name of [...new Set([...Object.keys(before.functions), ...Object.keys(after.functions)])].sort()) {
    yield;
    const [was, is] = [own(before.functions, name), own(after.functions, name)];
    const found = yield* compareFunction(name, was, is, steps);
    changes.push(...found.map((difference) => ({ ...difference, functionName: name })));
  }
  return changes;
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
export const widenings = (before: Manifest, after: Manifest, steps?: Steps): Widening[] =>
  wideningsAmong(compareAccess(before, after, steps));

/** {@link widenings} in pieces. */
export function* wideningComparison(before: Manifest, after: Manifest): Generator<undefined, Widening[]> {
  return wideningsAmong(yield* accessComparison(before, after));
}

const wideningsAmong = (changes: readonly AccessChange[]): Widening[] =>
  changes
    // A removed case changes the knowledge about a set, not its access.
    .filter(({ kind, about }) => kind !== "narrowing" && kind !== "changed" && about !== "cases")
    .map(({ about, functionName, sentence }) => ({
      kind: about,
      ...(functionName !== undefined && { functionName }),
      text: `${sentence}.`,
    }));

function compareContext(before: AccessLock, after: AccessLock, steps: Steps): AccessChange[] {
  const [was, is] = [before.context, after.context];
  if (was === undefined || was === is) return [];
  const say = (kind: AccessChange["kind"], sentence: string) => [change(kind, "context", sentence)];
  if (was === true) return is === undefined ? [] : say("narrowing", "the context of a query has a schema");
  if (is === undefined || is === true)
    return say("widening", "the context of a query has no schema, so it may be any object");
  const { wider, narrower } = compareSchemas(was, is, { steps });
  const where = (path: string) => (path === "" ? "" : ` at ${quote(path)}`);
  const isRecoded = before.contextCode !== after.contextCode && after.contextCode !== undefined;
  if (isRecoded && before.contextCode !== undefined && wider.length === 0)
    return say("unproven", "code in the schema of the context changed, which the comparison cannot judge");
  if (wider.length === 0)
    return narrower.slice(0, 1).flatMap(({ path }) => say("narrowing", `a query may carry less context${where(path)}`));
  return wider.flatMap(({ path, reason, witness }) =>
    witness === undefined
      ? say("unproven", `the context of a query changed${where(path)}: ${reason}`)
      : say("widening", `a query may carry more context${where(path)}: ${reason}`),
  );
}

function compareSubject(was: AccessLock["subject"], is: AccessLock["subject"]): AccessChange[] {
  if (was === undefined || was === is) return [];
  const say = (kind: AccessChange["kind"], sentence: string) => [change(kind, "subject", sentence)];
  if (is === undefined || is === false)
    return say(
      "widening",
      "the service no longer names a subject, so earlier turns about one subject are shown in queries about another",
    );
  if (was === false) return say("narrowing", "the service names the subject of a query");
  const first = new Map<string, string>();
  for (const name of Object.keys(was.cases).filter((caseName) => Object.hasOwn(is.cases, caseName))) {
    const known = first.get(is.cases[name]!);
    if (known === undefined) first.set(is.cases[name]!, name);
    else if (was.cases[known] !== was.cases[name])
      return say(
        "widening",
        `cases ${known} and ${name} have the same subject, so each sees earlier turns of the other`,
      );
  }
  if (was.code === undefined || is.code === undefined || isSameCode(was.code, is.code)) return [];
  return say("unproven", "subject changed, and no case shows a difference");
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

function compareColumns(before: AccessLock, after: AccessLock, steps: Steps): AccessChange[] {
  const rolesIn = ({ functions }: AccessLock) =>
    new Set(Object.values(functions).flatMap(({ roles }) => Object.keys(roles)));
  const [was, is] = [rolesIn(before), rolesIn(after)];
  // Without functions there are no columns, so the roles cannot be compared.
  if (was.size === 0 || is.size === 0) return [];
  const added = [...is].filter((role) => !was.has(role));
  const removed = [...was].filter((role) => !is.has(role));
  const differing = (own: Steps): AccessChange[] => {
    takeSteps(own, STEPS_OF_COLUMN * (added.length + removed.length));
    return [
      ...added.map((role) => change("narrowing", "roles", `role ${quote(role)} is new`)),
      ...removed.map((role) => change("narrowing", "roles", `role ${quote(role)} is gone`)),
    ];
  };
  return within(steps, steps.left, differing, () => [
    change("unproven", "roles", `the roles of functions changed: ${TOO_MANY_STEPS}`),
  ]);
}

const STEPS_OF_COLUMN = 40;

/** A key or caller with a role may state the roles that it includes: a change, whatever their functions are. */
function compareInclusions(before: AccessLock, after: AccessLock, steps: Steps): AccessChange[] {
  const [was, is] = [before, after].map(({ includes = {} }) =>
    Object.fromEntries(Object.entries(includes).map(([role, listed]) => [role, { includes: listed }])),
  ) as [Inclusions, Inclusions];
  if (isSame(was, is, { whole: true })) return [];
  const size = [was, is].flatMap((one) => Object.values(one)).reduce((sum, one) => sum + one.includes!.length, 0);
  const compare = (own: Steps): AccessChange[] =>
    [...new Set([...Object.keys(was), ...Object.keys(is)])].toSorted().flatMap((role) => {
      takeSteps(own, STEPS_OF_COLUMN + size);
      const [old, now] = [actsAs(role, was), actsAs(role, is)];
      const say = (kind: AccessChange["kind"], verb: string, roles: ReadonlySet<string>) =>
        roles.size === 0 ? [] : [change(kind, "roles", `${quote(role)} ${verb} ${list([...roles].map(quote))}`)];
      return [
        ...say("widening", "gained the access of", now.difference(old)),
        ...say("narrowing", "lost the access of", old.difference(now)),
      ];
    });
  return within(steps, steps.left, compare, () => [
    change("unproven", "roles", `the inclusions of roles changed: ${TOO_MANY_STEPS}`),
  ]);
}

function* compareFunction(
  name: string,
  before: LockedFunction | undefined,
  after: LockedFunction | undefined,
  steps: Steps,
): Generator<undefined, AccessChange[]> {
  if (after === undefined) return [change("narrowing", "function", `function ${name} is gone`)];
  if (before === undefined) return newFunction(name, after);
  if (isSame(before, after, { whole: true })) return [];
  const roles = [...new Set([NO_ROLE, ...Object.keys(before.roles), ...Object.keys(after.roles)])];
  const callers = roles.filter((role) => !isHidden(cellFor(before, role)) && !isHidden(cellFor(after, role)));
  const compare = (own: Steps) => compareRoles({ name, before, after, roles, steps: own });
  const isDecidedElse = before.authorize !== after.authorize || !isSame(before.roles, after.roles, { whole: true });
  const decisions = !isDecidedElse
    ? []
    : within(steps, steps.left, compare, () => [
        change("unproven", "authorize", `who may call ${name} changed: ${TOO_MANY_STEPS}`),
      ]);
  const calls = { name, before, after, callers, steps };
  if (callers.length === 0) return decisions;
  const changes = [
    ...decisions,
    ...compareCode(calls, decisions),
    ...compareApproval(calls),
    ...compareToken(calls),
    ...compareEffect(calls),
    ...compareInput(calls),
    ...compareParsing(`the input of ${name}`, before, after, isDecidedByCall(after)),
    ...compareFlow(name, before, after),
    ...compareTexts(name, before, after),
  ];
  yield;
  return [...changes, ...compareOutput(calls)];
}

/** True if code decides single calls for some role. */
const isDecidedByCall = ({ roles }: LockedFunction): boolean =>
  Object.values(roles).some((cell) => typeof cell === "object" && cell.access === "conditional");

function newFunction(name: string, added: LockedFunction): AccessChange[] {
  const { roles } = added;
  const open = Object.keys(roles).filter((role) => !isHidden(roles[role]!));
  if (open.length === 0) return [change("narrowing", "function", `function ${name} is new: open to no role`)];
  const decided = isDecidedByCall(added);
  const sentence = `function ${name} is new: open to ${who(open)}${decided ? ", decided call by call" : ""}${asks(added)}`;
  return [change("widening", "function", sentence)];
}

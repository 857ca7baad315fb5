import type { LockedFunction } from "@patchbay/protocol";
import { at, narrowed, shortened } from "./paths.ts";
import { type AccessChange, approvalBy, change, quote, who } from "./sentences.ts";
import { compareSchemas } from "@patchbay/schema";
import type { Steps } from "@patchbay/kit";

/** A function before and after, and the roles that may call it in both. */
export interface Calls {
  name: string;
  before: LockedFunction;
  after: LockedFunction;
  callers: readonly string[];
  /** Shared by the whole comparison. */
  steps: Steps;
}

/** True if two places have the same fingerprint: that of the text, or that of what it decides. */
export const isSameCode = (was: string | undefined, is: string | undefined): boolean =>
  was === is || (was ?? "").split(" ").some((print) => print !== "" && (is ?? "").split(" ").includes(print));

/** True if code decides on calls that all passed without it, or passes none, or asks for an approval of each. */
function isLess(part: "authorize" | "approval", before: LockedFunction, after: LockedFunction): boolean {
  if (before[part] === false) return true;
  if (part === "authorize") return after.code?.[part]?.endsWith(" never") ?? false;
  return after.code?.[part]?.endsWith(" always") ?? (typeof after.approval === "object" && !after.approval.conditional);
}

/** Changed code, unless a case verdict shows that it allows more. Without fingerprints on both sides, none. */
export function compareCode({ name, before, after }: Calls, decisions: readonly AccessChange[]): AccessChange[] {
  if (before.code === undefined || after.code === undefined) return [];
  const isShown = decisions.some(({ kind, about }) => kind === "widening" && about === "authorize");
  return Object.keys({ ...before.code, ...after.code }).flatMap((part) => {
    const isCall = part === "authorize" || part === "approval";
    if (isSameCode(before.code?.[part], after.code?.[part]) || (isCall && isShown)) return [];
    if (isCall && isLess(part, before, after))
      return [change("narrowing", part, `${part} of ${name} is code that lets no further call pass`)];
    const what = part === "approval" ? "when of the approval" : "authorize";
    const sentence = isCall
      ? `${what} of ${name}, or code that it uses, changed, and no case shows whether it allows more`
      : `code in the ${part} schema of ${name} changed, which the comparison cannot judge`;
    return [change("unproven", part as AccessChange["about"], sentence)];
  });
}

export function compareApproval({ name, before, after }: Calls): AccessChange[] {
  const [was, is] = [before.approval, after.approval];
  if (was === undefined || is === undefined || (was === false && is === false)) return [];
  const say = (kind: AccessChange["kind"], sentence: string) => change(kind, "approval", sentence);
  if (is === false) return [say("widening", `calls of ${name} need no approval any more`)];
  if (was === false)
    return [say("narrowing", `${is.conditional ? "some calls" : "calls"} of ${name} need ${approvalBy(is)}`)];
  const differences = (old: readonly string[] = [], now: readonly string[] = []) => {
    const [were, are] = [new Set(old), new Set(now)];
    return [now.filter((item) => !were.has(item)), old.filter((item) => !are.has(item))];
  };
  const [by = [], notBy = []] = differences(was.by, is.by);
  const [edit = [], notEdit = []] = differences(was.edit, is.edit);
  const flag = (differ: boolean, isMore: boolean, more: string, less: string) =>
    differ ? [isMore ? say("widening", more) : say("narrowing", less)] : [];
  return [
    ...by.map((role) => say("widening", `${quote(role)} may approve calls of ${name}`)),
    ...notBy.map((role) => say("narrowing", `${quote(role)} may not approve calls of ${name}`)),
    ...edit.map((path) => say("widening", `an approver may change ${quote(path)} of ${name}`)),
    ...notEdit.map((path) => say("narrowing", `an approver may not change ${quote(path)} of ${name}`)),
    ...flag(
      was.fourEyes !== is.fourEyes,
      !is.fourEyes,
      `the sender of a query may approve its calls of ${name}`,
      `the sender of a query may not approve its calls of ${name}`,
    ),
    ...flag(
      was.conditional !== is.conditional,
      is.conditional,
      `only some calls of ${name} need ${approvalBy(is)}`,
      `every call of ${name} needs ${approvalBy(is)}`,
    ),
    ...flag(
      was.expiresInMs !== is.expiresInMs,
      is.expiresInMs > was.expiresInMs,
      `a request to approve ${name} expires after ${is.expiresInMs} ms instead of ${was.expiresInMs}`,
      `a request to approve ${name} expires after ${is.expiresInMs} ms instead of ${was.expiresInMs}`,
    ),
  ];
}

/** A function that needs its caller's token runs no call without one. */
export function compareToken({ name, before, after }: Calls): AccessChange[] {
  if (before.needsCallerToken === after.needsCallerToken) return [];
  return before.needsCallerToken
    ? [change("widening", "authorize", `calls of ${name} need no token of their caller any more`)]
    : [change("narrowing", "authorize", `calls of ${name} need the token of their caller`)];
}

const EFFECTS = ["read", "write", "destructive"];

/** A weaker effect lets equal calls repeat more often, and an idempotent call may run twice. */
export function compareEffect({ name, before, after }: Calls): AccessChange[] {
  const say = (isMore: boolean, sentence: string) => change(isMore ? "widening" : "narrowing", "effect", sentence);
  const differs = (key: "effect" | "idempotent") =>
    before[key] !== undefined && after[key] !== undefined && before[key] !== after[key];
  const isWeaker = EFFECTS.indexOf(after.effect!) < EFFECTS.indexOf(before.effect!);
  const runs = after.idempotent
    ? `a call of ${name} may run twice: it is declared idempotent`
    : `a call of ${name} does not run twice: it is not declared idempotent any more`;
  return [
    ...(differs("effect") ? [say(isWeaker, `${name} is declared ${after.effect} instead of ${before.effect}`)] : []),
    ...(differs("idempotent") ? [say(after.idempotent!, runs)] : []),
  ];
}

export function compareInput({ name, before, after, callers, steps }: Calls): AccessChange[] {
  if (before.input === undefined || after.input === undefined) return [];
  const { wider, ...rest } = compareSchemas(before.input, after.input, { steps });
  const may = `${who(callers)} may pass`;
  return [
    ...shortened(wider).map(({ path, reason, witness, kind }) =>
      kind === "widening"
        ? change(kind, "input", `${may} more to ${name}${at(path)}: ${reason}${witness}`)
        : change(kind, "input", `the input of ${name} changed${at(path)}: ${reason}`),
    ),
    ...narrowed({ wider, ...rest }).map(({ path }) =>
      change("narrowing", "input", `${may} less to ${name}${at(path)}`),
    ),
  ];
}

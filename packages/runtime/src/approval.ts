import {
  approvalIdOf,
  type ApprovalRule,
  approvalRuleOf,
  CALLER,
  type FunctionManifest,
  type GrantedApproval,
  LIMITS,
} from "@patchbay/protocol";
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import { DefinitionError } from "./errors.ts";
import { isLabel } from "./labels.ts";

/** A time such as `"24h"`: a number with seconds, minutes, hours or days. */
export type Duration = `${number}${"s" | "m" | "h" | "d"}`;

/**
 * Which calls to a function need a person's approval, and who may give it. `Call` is what `authorize` receives,
 * `Member` an argument name.
 */
export interface ApprovalOptions<Call, Member extends string = string, Role extends string = string> {
  /** The service's roles that may decide. `"caller"`: the query's own role may confirm the call. */
  by: readonly (Role | typeof CALLER)[];
  /**
   * Decides whether a call needs an approval, after `authorize` allowed it. A string is the reason that the approver reads. Only
   * `false` runs the call without an approval, and an exception fails it. Default: every call needs one.
   */
  when?: (call: Call) => boolean | string | Promise<boolean | string>;
  /** When a request without a decision expires: `"24h"`, or milliseconds. From 1 minute to 30 days, default 24 hours. */
  expiresIn?: Duration | number;
  /** Arguments that an approver may change. Default: none. */
  edit?: readonly Member[];
  /** Whether the key or member that sent the query is refused as its approver. Default: true, unless `by` has `"caller"`. */
  fourEyes?: boolean;
}

const OPTIONS = ["by", "when", "expiresIn", "edit", "fourEyes"];
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A function's `approval`, for the manifest. Throws `DefinitionError` for a mistake in it. */
export function checkApproval(approval: unknown, inputSchema: JsonObject, where: string): ApprovalRule {
  const refuse = (text: string): never => {
    throw new DefinitionError(`${where}: approval${text}`);
  };
  if (!isJsonObject(approval)) return refuse(' must be an object such as { by: ["manager"] }, or absent.');
  const { by, when, expiresIn, edit, fourEyes } = approval as Partial<Record<string, unknown>>;
  const unknown = Object.keys(approval).filter((name) => !OPTIONS.includes(name));
  if (unknown.length > 0) refuse(`: unknown option ${unknown.join(", ")}. The options are: ${OPTIONS.join(", ")}.`);
  if (!Array.isArray(by) || by.length === 0 || !by.every(isLabel))
    return refuse(`.by must be a list of at least one role of 1 to ${LIMITS.labelUnits} characters, or "${CALLER}".`);
  if (when !== undefined && typeof when !== "function") refuse(".when must be a function, or absent.");
  if (fourEyes !== undefined && typeof fourEyes !== "boolean") refuse(".fourEyes must be true or false.");
  const expiresInMs = expiresIn === undefined ? LIMITS.approvalMs : millisecondsOf(expiresIn);
  if (expiresInMs === undefined)
    return refuse(`.expiresIn must be a time such as "24h", "30m" or "7d", or milliseconds, got ${shown(expiresIn)}.`);
  if (expiresInMs < LIMITS.approvalMinMs || expiresInMs > LIMITS.approvalMaxMs)
    refuse(`.expiresIn must be from 1 minute to 30 days, got ${shown(expiresIn)}.`);
  return {
    by: [...new Set(by)],
    conditional: when !== undefined,
    ...(edit !== undefined && { edit: checkEdit(edit, inputSchema, refuse) }),
    fourEyes: (fourEyes as boolean | undefined) ?? !by.includes(CALLER),
    expiresInMs,
  };
}

function checkEdit(edit: unknown, inputSchema: JsonObject, refuse: (text: string) => never): string[] {
  if (!Array.isArray(edit) || !edit.every((name) => typeof name === "string"))
    return refuse(".edit must be a list of members of the input, or absent.");
  const members = isJsonObject(inputSchema["properties"]) ? Object.keys(inputSchema["properties"]) : [];
  const unknown = edit.find((name) => !members.includes(name));
  if (unknown !== undefined)
    refuse(`.edit names "${unknown}", which is not a member of the input. Its members are: ${members.join(", ")}.`);
  return [...new Set(edit)];
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

function millisecondsOf(time: unknown): number | undefined {
  if (typeof time === "number") return Number.isInteger(time) ? time : undefined;
  const parts = typeof time === "string" ? /^(\d+(?:\.\d+)?)([smhd])$/.exec(time) : null;
  return parts === null ? undefined : Math.round(Number(parts[1]) * UNIT_MS[parts[2]!]!);
}

/** Refuses approvals by others of calls that need their caller's token, a role in `by` that no decision can have, and `"caller"` where a role has this name. */
export function checkApprovers(manifest: FunctionManifest, known: readonly string[], where: string): void {
  const by = approvalRuleOf(manifest)?.by ?? [];
  if (by.includes(CALLER) && known.includes(CALLER))
    throw new DefinitionError(
      `${where} has "${CALLER}", which means the role of the query, but a role of the service has this name. Rename the role.`,
    );
  if (manifest.needsCallerToken && by.some((role) => role !== CALLER))
    throw new DefinitionError(
      `${where} has other roles than "${CALLER}", but the function needs its caller's token, which may have expired when another person decides. Use by: ["${CALLER}"], or remove needsCallerToken.`,
    );
  const unknown = by.find((role) => role !== CALLER && !known.includes(role));
  if (unknown !== undefined)
    throw new DefinitionError(
      `${where} names the role "${unknown}", which is not among ${known.join(", ") || "the roles of any function"}. Correct it, or add it to the roles of the service.`,
    );
}

/** A delivery with a person's decision. */
export interface ApprovedDelivery {
  callId: string;
  attempt: number;
  role: string | undefined;
  /** The arguments that the model wrote. */
  arguments: JsonValue;
  approval: GrantedApproval;
}

/**
 * Why an approval does not fit this call. Undefined if it fits. The runtime checks every part itself and trusts the
 * control plane for none.
 */
export function approvalFault(rule: ApprovalRule, delivery: ApprovedDelivery): string | undefined {
  const { callId, attempt, role, approval } = delivery;
  const { approvalId, decidedAs, decidedBy, requestedBy, edited } = approval;
  if (attempt === 1) return "no delivery of the call asked for it";
  if (approvalId !== approvalIdOf(callId)) return "it is the approval of another call";
  if (approval.argumentsHash !== argumentsHash(delivery.arguments)) return "it was given for other arguments";
  const confirms = rule.by.includes(CALLER) && decidedAs === role;
  if (!confirms && (decidedAs === CALLER || !rule.by.includes(decidedAs)))
    return `the role ${JSON.stringify(decidedAs)} may not decide`;
  if (rule.fourEyes && decidedBy === requestedBy) return "it was decided by the sender of the query";
  const changed = edited === undefined ? undefined : changedOutside(rule.edit ?? [], delivery.arguments, edited);
  return changed === undefined ? undefined : `it changes ${JSON.stringify(changed)}, which approvers may not edit`;
}

/** The first member outside `edit` that differs between two argument versions. */
function changedOutside(edit: readonly string[], before: JsonValue, after: JsonObject): string | undefined {
  if (!isJsonObject(before)) return "the arguments";
  return Object.keys({ ...before, ...after }).find((name) => {
    if (edit.includes(name)) return false;
    if (!Object.hasOwn(before, name) || !Object.hasOwn(after, name)) return true;
    return canonicalJson(before[name]) !== canonicalJson(after[name]);
  });
}

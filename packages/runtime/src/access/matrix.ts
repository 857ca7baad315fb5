import {
  accessColumns,
  accessSurface,
  describeFlow,
  type FlowPair,
  flowPairs,
  heldBy,
  NO_ROLE,
  roleOfColumn,
} from "@patchbay/access";
import { type Effect, type FlowMode, type Inclusions, inheritedFrom, rolesAllow, rolesOf } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { Rule } from "../admission.ts";
import type { CheckedCase } from "../definition-checks.ts";
import { DefinitionError } from "../errors.ts";
import type { Service } from "../service.ts";

/** Each role's access to each function and its restricted fields, computed from a service's code without a model. */
export interface AccessMatrix {
  service: string;
  /** The role for queries without one. The column `none` shows the access without any role. */
  defaultRole?: string;
  /** `none`, then the service's roles in its order, then roles that only functions name. */
  roles: string[];
  /** What the service says about its roles. Absent if it only lists them. */
  roleOptions?: Inclusions;
  /** The service's hooks. The matrix does not show their decisions. */
  hooks: HookName[];
  /** Sorted by name. */
  functions: FunctionRow[];
  /** The service's data-flow rules. Absent without any. */
  flows?: { mode: FlowMode; by: readonly string[]; holders: FlowHolder[]; pairs: FlowPair[] };
}

/** A role that may read what strangers write and what is private, and may send: each without the others is harmless. */
export interface FlowHolder {
  role: string;
  untrusted: string[];
  private: string[];
  outward: string[];
}

const HOOKS = ["beforeQuery", "beforeAnswer", "beforeCall"] as const;
/** A hook that a service may have. */
export type HookName = (typeof HOOKS)[number];

/** The access to one function. */
export interface FunctionRow {
  name: string;
  effect: Effect;
  /** Who must approve calls, for every role that may call it; absent if no one must. `conditional`: some calls only. */
  approval?: { by: readonly string[]; conditional: boolean };
  /** Its labels and targets, in a service with data-flow rules: `untrusted`, `to caller; sends body`. */
  flow?: string;
  /** By role. */
  cells: Record<string, Cell>;
}

/**
 * One role's access to one function. `hidden`: the role list refuses. `allowed`: the role list decides. `approval`: a
 * person approves every call. `conditional`: an `authorize`, or an approval's `when`, decides each call, as the owner's
 * cases show.
 */
export type Cell = HiddenCell | AllowedCell | ApprovalCell | ConditionalCell;

/** The role list refuses the role, so the function does not exist for it. */
export interface HiddenCell {
  access: "hidden";
}

/** A cell of a role that may call the function. */
interface OpenCell {
  /** The listed roles that the role includes, through which it has the access. Absent if it includes none. */
  from?: string[];
}

/** The role list allows the role, and the function has no `authorize`. */
export interface AllowedCell extends OpenCell {
  access: "allowed";
  /** Restricted fields that the role does not receive, as paths such as `orders[].cost`. */
  hides: string[];
}

/** The role list allows the role, and a person must approve every call. */
export interface ApprovalCell extends OpenCell {
  access: "approval";
  hides: string[];
  /** The roles that may approve. `"caller"`: the query's role. */
  by: readonly string[];
}

/** The role list allows the role, and `authorize` or an approval's `when` decides each call. The declared cases show how. */
export interface ConditionalCell extends OpenCell {
  access: "conditional";
  hides: string[];
  /** By case name. */
  cases: Record<string, CaseVerdict>;
}

/** The decision on a declared case. */
export interface CaseVerdict {
  /** `approval`: every rule allows it, and a person must approve it. */
  decision: "allowed" | "approval" | "denied";
  /** The rule that decided. */
  rule: Rule | "allowed";
  /** The message for the caller, or the reason in the approval request. */
  message?: string;
  /** The error from the owner's own code, which denies the call. */
  note?: string;
}

/** Runs the gate's checks for every function, role and declared case, without handlers. Throws `DefinitionError` for a case that its function does not accept. */
export async function accessMatrix(service: Service): Promise<AccessMatrix> {
  const { name, roleOptions, defaultRole, functions } = service.manifest;
  const roles = columnsOf(service);
  const { functions: surface } = accessSurface(service.manifest);
  const rows = functions.map(async ({ name, effect, approval }): Promise<FunctionRow> => {
    const cells = await Promise.all(roles.map(async (role) => [role, await cellOf(service, name, role)] as const));
    const asks = approval && { by: approval.by, conditional: approval.conditional };
    const flow = describeFlow(surface[name]!);
    return { name, effect, ...(asks && { approval: asks }), ...present({ flow }), cells: Object.fromEntries(cells) };
  });
  return {
    service: name,
    ...present({ roleOptions, defaultRole, flows: flowsOf(service, { functions: surface }, roles) }),
    roles,
    hooks: HOOKS.filter((hook) => service.manifest[hook] === true),
    functions: (await Promise.all(rows)).sort((a, b) => compareTexts(a.name, b.name)),
  };
}

function flowsOf({ manifest }: Service, surface: Parameters<typeof heldBy>[0], roles: readonly string[]) {
  const { mode, by = [] } = manifest.functions.find(({ flow }) => flow?.mode !== undefined)?.flow ?? {};
  if (mode === undefined) return undefined;
  const held = roles.map((role): FlowHolder => ({ role, ...heldBy(surface, role) }));
  const isHolder = ({ untrusted, private: own, outward }: FlowHolder) =>
    untrusted.length > 0 && own.length > 0 && outward.length > 0;
  return { mode, by, holders: held.filter(isHolder), pairs: flowPairs(surface, roles) };
}

/** Compares by code units, which does not depend on the locale. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function columnsOf({ manifest }: Service): string[] {
  if (rolesOf(manifest).has(NO_ROLE))
    throw new DefinitionError(
      `A role named "${NO_ROLE}" has the name of the column without a role in the access matrix. Rename it.`,
    );
  return accessColumns(manifest);
}

async function cellOf(service: Service, functionName: string, column: string): Promise<Cell> {
  const role = roleOfColumn(column);
  const { roles, conditional, approval } = service.manifest.functions.find(({ name }) => name === functionName)!;
  if (!rolesAllow(roles, role)) return { access: "hidden" };
  const { cases, protection } = service.access.get(functionName)!;
  const hides = protection?.hiddenFrom(role) ?? [];
  const through = role === undefined ? [] : inheritedFrom(role, roles, service.manifest.roleOptions);
  const from = through.length > 0 && { from: through };
  if (!conditional && approval?.conditional !== true)
    return approval ? { access: "approval", hides, by: approval.by, ...from } : { access: "allowed", hides, ...from };
  const about = [...cases].filter(
    ([, checked]) => checked.roles === undefined || (role !== undefined && checked.roles.includes(role)),
  );
  const verdicts = about.map(
    async ([name, checked]) => [name, await judge(service, { functionName, role, name }, checked)] as const,
  );
  const judged = (await Promise.all(verdicts)).sort(([a], [b]) => compareTexts(a, b));
  return { access: "conditional", hides, cases: Object.fromEntries(judged), ...from };
}

async function judge(
  service: Service,
  { functionName, role, name }: { functionName: string; role: string | undefined; name: string },
  { context, caller, input }: CheckedCase,
): Promise<CaseVerdict> {
  const verdict = await service.check({ functionName, role, context, caller, arguments: input });
  if (verdict.ok) return { decision: "allowed", rule: "allowed" };
  const { rule, outcome, error } = verdict;
  if (rule === "input" && error === undefined)
    throw new DefinitionError(`Function "${functionName}" does not accept its case "${name}": ${outcome.message}`);
  const decision = outcome.code === "approval_required" ? "approval" : "denied";
  return { decision, rule, message: outcome.message, ...(error !== undefined && { note: noteOf(rule, error) }) };
}

export function noteOf(rule: Rule, error: unknown): string {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return `${OWNERS_CODE[rule] ?? `the schema of the ${rule}`} threw ${what}`;
}

const OWNERS_CODE: Partial<Record<Rule, string>> = { authorize: "authorize", approval: "when of the approval" };

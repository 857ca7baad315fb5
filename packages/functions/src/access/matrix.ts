import { rolesAllow, type Effect } from "@patchbay/protocol";
import type { Rule } from "../admission.ts";
import type { CheckedCase } from "../definition-checks.ts";
import { DefinitionError } from "../errors.ts";
import type { Service } from "../service.ts";

/** The column of queries without a role, and of roles that the service does not know. */
export const NO_ROLE = "none";

/** The access of each role to each function and its restricted fields, computed from the code of a service without a model. */
export interface AccessMatrix {
  service: string;
  /** The role of queries without one. The column `none` shows the access without any role. */
  defaultRole?: string;
  /** `none`, then the roles of the service in its order, then roles that only functions name. */
  roles: string[];
  /** The hooks of the service. The matrix does not show their decisions. */
  hooks: HookName[];
  /** Sorted by name. */
  functions: FunctionRow[];
}

const HOOKS = ["beforeQuery", "beforeAnswer"] as const;
/** A hook that a service may have. */
export type HookName = (typeof HOOKS)[number];

/** The access to one function. */
export interface FunctionRow {
  name: string;
  effect: Effect;
  /** By role. */
  cells: Record<string, Cell>;
}

/**
 * The access of one role to one function. `hidden`: the role list refuses. `allowed`: the role list decides. `conditional`: an
 * `authorize` decides each call, as the owner's cases show.
 */
export type Cell = HiddenCell | AllowedCell | ConditionalCell;

/** The role list refuses the role, so the function does not exist for it. */
export interface HiddenCell {
  access: "hidden";
}

/** The role list allows the role, and the function has no `authorize`. */
export interface AllowedCell {
  access: "allowed";
  /** Restricted fields that the role does not receive, as paths such as `orders[].cost`. */
  hides: string[];
}

/** The role list allows the role, and `authorize` decides each call. The declared cases show how. */
export interface ConditionalCell {
  access: "conditional";
  hides: string[];
  /** By the name of the case. */
  cases: Record<string, CaseVerdict>;
}

/** The decision on a declared case. */
export interface CaseVerdict {
  allowed: boolean;
  /** The rule that decided. */
  rule: Rule | "allowed";
  /** The message for the caller. */
  message?: string;
  /** The error that the owner's own code threw, which denies the call. */
  note?: string;
}

/** Runs the gate's checks for every function, role and declared case, without handlers. Throws `DefinitionError` for a case that its function does not accept. */
export async function accessMatrix(service: Service): Promise<AccessMatrix> {
  const { name, defaultRole, functions } = service.manifest;
  const roles = rolesOf(service);
  const rows = functions.map(async (one): Promise<FunctionRow> => {
    const cells = await Promise.all(roles.map(async (role) => [role, await cellOf(service, one.name, role)] as const));
    return { name: one.name, effect: one.effect, cells: Object.fromEntries(cells) };
  });
  return {
    service: name,
    ...(defaultRole !== undefined && { defaultRole }),
    roles,
    hooks: HOOKS.filter((hook) => service.manifest[hook] === true),
    functions: (await Promise.all(rows)).sort((a, b) => compareTexts(a.name, b.name)),
  };
}

/** Compares by code units, which does not depend on the locale. */
export function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The role of a column, as a query has it. */
export function roleOf(column: string): string | undefined {
  return column === NO_ROLE ? undefined : column;
}

function rolesOf({ manifest }: Service): string[] {
  const declared = [...(manifest.roles ?? []), ...(manifest.defaultRole === undefined ? [] : [manifest.defaultRole])];
  const named = manifest.functions.flatMap(({ roles }) => (roles === "everyone" ? [] : roles));
  const all = new Set([...declared, ...named.sort(compareTexts)]);
  if (all.has(NO_ROLE))
    throw new DefinitionError(
      `A role named "${NO_ROLE}" has the name of the column without a role in the access matrix. Rename it.`,
    );
  return [NO_ROLE, ...all];
}

async function cellOf(service: Service, functionName: string, column: string): Promise<Cell> {
  const role = roleOf(column);
  const { roles, conditional } = service.manifest.functions.find(({ name }) => name === functionName)!;
  if (!rolesAllow(roles, role)) return { access: "hidden" };
  const { cases, protection } = service.access.get(functionName)!;
  const hides = protection?.hiddenFrom(role) ?? [];
  if (!conditional) return { access: "allowed", hides };
  const about = [...cases].filter(
    ([, one]) => one.roles === undefined || (role !== undefined && one.roles.includes(role)),
  );
  const verdicts = about.map(
    async ([name, one]) => [name, await judge(service, { functionName, role, name, one })] as const,
  );
  const judged = (await Promise.all(verdicts)).sort(([a], [b]) => compareTexts(a, b));
  return { access: "conditional", hides, cases: Object.fromEntries(judged) };
}

async function judge(
  service: Service,
  { functionName, role, name, one }: { functionName: string; role: string | undefined; name: string; one: CheckedCase },
): Promise<CaseVerdict> {
  const verdict = await service.check({ functionName, role, context: one.context, arguments: one.input });
  if (verdict.ok) return { allowed: true, rule: "allowed" };
  const { rule, outcome, error } = verdict;
  if (rule === "input" && error === undefined)
    throw new DefinitionError(`Function "${functionName}" does not accept its case "${name}": ${outcome.message}`);
  return { allowed: false, rule, message: outcome.message, ...(error !== undefined && { note: noteOf(rule, error) }) };
}

export function noteOf(rule: Rule, error: unknown): string {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return `${rule === "authorize" ? "authorize" : `the schema of the ${rule}`} threw ${what}`;
}

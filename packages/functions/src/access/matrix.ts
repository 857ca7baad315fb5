import { rolesAllow, type Effect } from "@patchbay/protocol";
import type { Rule } from "../admission.ts";
import type { CheckedCase } from "../cases.ts";
import { DefinitionError } from "../errors.ts";
import type { Service } from "../service.ts";

/** The column of queries that send no role, and of every role that the service does not know. */
export const NO_ROLE = "none";

/** Who may call what, and who sees which members of the results: computed from a service's code, without a model. */
export interface AccessMatrix {
  service: string;
  /** The role that a query without one has; the column `none` shows what is open without any. */
  defaultRole?: string;
  /** `none`, then the roles of the service in its order, then those that only functions name. */
  roles: string[];
  /** Hooks of the service: what they decide is not in the matrix. */
  hooks: HookName[];
  /** By name. */
  functions: FunctionRow[];
}

const HOOKS = ["beforeQuery", "beforeAnswer"] as const;
/** A hook that a service may have. */
export type HookName = (typeof HOOKS)[number];

/** Who gets what of one function. */
export interface FunctionRow {
  name: string;
  effect: Effect;
  /** By role. */
  cells: Record<string, Cell>;
}

/**
 * `hidden`: the role list refuses, and the function is as good as not there. `allowed`: nothing else decides. `conditional`: an
 * `authorize` decides call by call, as the owner's cases show.
 */
export type Cell = HiddenCell | AllowedCell | ConditionalCell;

/** The role list refuses: to this role the function does not exist. */
export interface HiddenCell {
  access: "hidden";
}

/** The role list allows, and nothing decides call by call. */
export interface AllowedCell {
  access: "allowed";
  /** Marked members that the role does not get, as paths such as `orders[].cost`. */
  hides: string[];
}

/** The role list allows and an `authorize` decides call by call; the declared cases show how. */
export interface ConditionalCell {
  access: "conditional";
  hides: string[];
  /** By the case's name. */
  cases: Record<string, CaseVerdict>;
}

/** What became of a declared call. */
export interface CaseVerdict {
  allowed: boolean;
  /** What decided. */
  rule: Rule | "allowed";
  /** What the caller would be told. */
  message?: string;
  /** What the owner's own code threw: such a call is denied. */
  note?: string;
}

/** Asks the gate of a service about every function, role and declared case. Runs no handler. Throws DefinitionError when a case does not fit its function. */
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

/** The order of code units: the same on every machine. */
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
      `A role named "${NO_ROLE}" cannot be told from no role in an access matrix. Name it otherwise.`,
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
    throw new DefinitionError(`Case "${name}" of function "${functionName}" is not accepted by it: ${outcome.message}`);
  return { allowed: false, rule, message: outcome.message, ...(error !== undefined && { note: noteOf(rule, error) }) };
}

export function noteOf(rule: Rule, error: unknown): string {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return `${rule === "authorize" ? "authorize" : `the schema of the ${rule}`} threw ${what}`;
}

import {
  type AccessLock,
  type CaseDecision,
  type LockedCell,
  type LockedFunction,
  rolesAllow,
  type FlowRules,
  type FunctionManifest,
  type Manifest,
} from "@patchbay/protocol";
import { present, type Steps, takeSteps, UNLIMITED } from "@patchbay/kit";
import { withoutAnnotations, withOpenObjects, withoutTexts } from "@patchbay/schema";

/** The column for queries without a role, and for roles that the service does not know. */
export const NO_ROLE = "none";
/** The column for a role named {@link NO_ROLE}. */
const NAMED_NONE = '"none"';

const columnOf = (role: string): string => (role === NO_ROLE ? NAMED_NONE : role);

/** A column's role, as in a query. */
export function roleOfColumn(column: string): string | undefined {
  if (column === NO_ROLE) return undefined;
  return column === NAMED_NONE ? NO_ROLE : column;
}

/**
 * The access that a function set gives, as far as its manifest describes it: a lock without fingerprints. Absent facts
 * are unknown. Throws `TooManySteps`; without `steps` it takes as many as it needs.
 */
export function accessSurface(manifest: Manifest, steps: Steps = UNLIMITED): AccessLock {
  const { defaultRole, checksContext, namesSubject } = manifest;
  // An inexpressible or too large schema is `{}`, so that its removal is a difference.
  const contextSchema = manifest.contextSchema ?? (checksContext === true ? {} : undefined);
  const columns = accessColumns(manifest).sort();
  const hooks = (["beforeQuery", "beforeAnswer", "beforeCall"] as const).filter((hook) => manifest[hook] === true);
  return {
    version: 3,
    ...present({
      defaultRole: defaultRole && columnOf(defaultRole),
      context: contextSchema && withoutAnnotations(contextSchema, steps),
      includes: includedIn(manifest),
    }),
    ...(checksContext === false && { context: true as const }),
    ...(namesSubject !== undefined && { subject: namesSubject ? { cases: {} } : (false as const) }),
    ...(hooks.length > 0 && { hooks: Object.fromEntries(hooks.map((hook) => [hook, "runs" as const])) }),
    functions: byName(manifest.functions.map((declared) => [declared.name, functionSurface(declared, columns, steps)])),
  };
}

function includedIn({ roleOptions = {} }: Manifest): AccessLock["includes"] {
  const including = Object.entries(roleOptions).flatMap(([role, { includes = [] }]): [string, string[]][] =>
    includes.length > 0 ? [[role, includes.toSorted()]] : [],
  );
  return including.length > 0 ? byName(including) : undefined;
}

/** `none`, then the service's roles in its order, then roles that only functions name. */
export function accessColumns({ roles = [], defaultRole, functions }: Manifest): string[] {
  const named = functions.flatMap((declared) => (declared.roles === "everyone" ? [] : declared.roles));
  const all = [...roles, ...(defaultRole === undefined ? [] : [defaultRole]), ...[...new Set(named)].sort()];
  return [...new Set([NO_ROLE, ...all.map(columnOf)])];
}

function functionSurface(declared: FunctionManifest, columns: readonly string[], steps: Steps): LockedFunction {
  const { effect, idempotent, approval, conditional, inputSchema, keepsUnlisted, outputSchema } = declared;
  const { needsCallerToken } = declared;
  const input = withoutAnnotations(inputSchema, steps);
  const cell = cellsOf(declared, columns, steps);
  return {
    effect,
    idempotent,
    approval: approval ?? false,
    authorize: conditional,
    roles: Object.fromEntries(columns.map((column) => [column, cell(column)])),
    input: keepsUnlisted === true ? withOpenObjects(input, steps) : input,
    ...(outputSchema !== undefined && { output: withoutTexts(outputSchema, steps) }),
    ...(needsCallerToken && { needsCallerToken }),
    ...present({ flow: flowSurface(declared) }),
  };
}

function flowSurface({ flow, openWorld = false }: FunctionManifest): FlowRules | undefined {
  if (!flow) return undefined;
  // Tools of other servers have these, and without a mode they decide nothing.
  const { foreign: _, returns: __, ...rules } = flow;
  if (Object.keys(rules).length === 0) return undefined;
  const { targets, mode, returns = openWorld ? "untrusted" : "trusted", ...lists } = flow;
  const sorted = Object.entries(lists).map(
    ([name, list]) => [name, Array.isArray(list) ? list.toSorted() : list] as const,
  );
  return {
    ...present({ mode }),
    returns,
    ...Object.fromEntries(sorted),
    ...(targets && { targets: byName(Object.entries(targets)) }),
  };
}

const STEPS_OF_CELL = 10;
/** For a cell's hidden member or verdict. */
const STEPS_OF_ENTRY = 15;
const CHARACTERS_OF_STEP = 8;

/** A function's cells by column. */
function cellsOf(
  { roles, conditional, approval, cases = [], redactions = [] }: FunctionManifest,
  columns: readonly string[],
  steps: Steps,
): (column: string) => LockedCell {
  const allowed = new Set(roles === "everyone" ? [] : roles);
  takeSteps(steps, STEPS_OF_CELL * columns.length + allowed.size);
  const isDecided = conditional || approval?.conditional === true;
  const verdicts = new Map<string, [string, CaseDecision][]>();
  for (const { name, verdicts: given } of isDecided ? cases : [])
    for (const [column, verdict] of Object.entries(given)) {
      takeSteps(steps, STEPS_OF_ENTRY + name.length / CHARACTERS_OF_STEP);
      const known = verdicts.get(column) ?? [];
      verdicts.set(column, known);
      known.push([name, verdict as CaseDecision]);
    }
  return (column) => {
    const role = roleOfColumn(column);
    if (roles !== "everyone" && (role === undefined || !allowed.has(role))) return "hidden";
    const hidden = redactions.filter((redaction) => {
      takeSteps(steps, STEPS_OF_ENTRY + redaction.roles.length);
      return !rolesAllow(redaction.roles, role);
    });
    const members = byName(hidden.map(({ path }): [string, "removed"] => [path, "removed"]));
    if (!isDecided) return hidden.length === 0 ? "allowed" : { access: "allowed", members };
    const decided = byName(verdicts.get(column) ?? []);
    return { access: "conditional", cases: decided, ...(hidden.length > 0 && { members }) };
  };
}

/** A record's members by name. Names such as `__proto__` stay members. */
export function byName<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1)));
}

/** False for a case that a search adopted although its records do not exist: what it shows is not what the rule says. */
export const isCounted = (caseName: string): boolean => !/^unknown\d+$/.test(caseName);

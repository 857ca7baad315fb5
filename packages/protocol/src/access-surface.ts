import type { AccessLock, CaseDecision, LockedCell, LockedFunction } from "./access-lock.ts";
import { present } from "./json.ts";
import { rolesAllow, type FunctionManifest, type Manifest } from "./manifest.ts";
import { withoutAnnotations, withOpenObjects, withoutTexts } from "./subschemas.ts";

/** The column of queries without a role, and of roles that the service does not know. */
export const NO_ROLE = "none";
/** The column of a role that has the name of {@link NO_ROLE}. */
const NAMED_NONE = '"none"';

const columnOf = (role: string): string => (role === NO_ROLE ? NAMED_NONE : role);

/** The role of a column, as a query has it. */
export function roleOfColumn(column: string): string | undefined {
  if (column === NO_ROLE) return undefined;
  return column === NAMED_NONE ? NO_ROLE : column;
}

/** The access that a function set gives, as far as its manifest says it: a lock without fingerprints. Absent facts are unknown. */
export function accessSurface(manifest: Manifest): AccessLock {
  const { defaultRole, checksContext, namesSubject } = manifest;
  // A schema that cannot be written, or is too large to send, is `{}`, so that its removal is a difference.
  const contextSchema = manifest.contextSchema ?? (checksContext === true ? {} : undefined);
  const columns = accessColumns(manifest);
  const hooks = (["beforeQuery", "beforeAnswer"] as const).filter((hook) => manifest[hook] === true);
  return {
    version: 2,
    ...present({
      defaultRole: defaultRole && columnOf(defaultRole),
      context: contextSchema && withoutAnnotations(contextSchema),
    }),
    ...(checksContext === false && { context: true as const }),
    ...(namesSubject !== undefined && { subject: namesSubject ? { cases: {} } : (false as const) }),
    ...(hooks.length > 0 && { hooks: Object.fromEntries(hooks.map((hook) => [hook, "runs" as const])) }),
    functions: byName(manifest.functions.map((one) => [one.name, functionSurface(one, columns)])),
  };
}

/** `none`, then the roles of the service in its order, then roles that only functions name. */
export function accessColumns({ roles = [], defaultRole, functions }: Manifest): string[] {
  const named = functions.flatMap((one) => (one.roles === "everyone" ? [] : one.roles));
  const all = [...roles, ...(defaultRole === undefined ? [] : [defaultRole]), ...named.sort()];
  return [...new Set([NO_ROLE, ...all.map(columnOf)])];
}

function functionSurface(one: FunctionManifest, columns: readonly string[]): LockedFunction {
  const { effect, idempotent, approval, conditional, inputSchema, keepsUnlisted, outputSchema } = one;
  const input = withoutAnnotations(inputSchema);
  return {
    effect,
    idempotent,
    approval: approval ?? false,
    authorize: conditional,
    roles: byName(columns.map((role) => [role, cellOf(one, role)])),
    input: keepsUnlisted === true ? withOpenObjects(input) : input,
    ...(outputSchema !== undefined && { output: withoutTexts(outputSchema) }),
  };
}

function cellOf(
  { roles, conditional, approval, cases = [], redactions = [] }: FunctionManifest,
  column: string,
): LockedCell {
  const role = roleOfColumn(column);
  if (!rolesAllow(roles, role)) return "hidden";
  const hidden = redactions.filter((one) => !rolesAllow(one.roles, role)).map(({ path }) => path);
  const members = byName(hidden.map((path): [string, "removed"] => [path, "removed"]));
  if (!conditional && approval?.conditional !== true)
    return hidden.length === 0 ? "allowed" : { access: "allowed", members };
  const verdicts = cases.flatMap(({ name, verdicts }): [string, CaseDecision][] => {
    const verdict = Object.hasOwn(verdicts, column) ? (verdicts[column] as CaseDecision) : undefined;
    return verdict === undefined ? [] : [[name, verdict]];
  });
  return { access: "conditional", cases: byName(verdicts), ...(hidden.length > 0 && { members }) };
}

/** The members of a record by name. Names such as `__proto__` stay members. */
export function byName<T>(entries: readonly (readonly [string, T])[]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1)));
}

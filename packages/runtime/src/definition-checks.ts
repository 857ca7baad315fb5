import { CallerIdentity, Effect, type ExampleQuery, FUNCTION_NAME, LIMITS, type Roles } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { DefinitionError, listFaults } from "./errors.ts";
import { isLabel } from "./labels.ts";
import { checkRetries } from "./retries.ts";
import { isSchema, type Parse } from "./schema/schema.ts";
import { toJson } from "./json.ts";

/** The condition for an option's value, and what the option must be. */
type Check = readonly [holds: (value: unknown) => boolean, must: string | ((value: unknown) => string)];
/** The checks by option, in the order of messages. Null: another function checks the option. */
type Checks = Readonly<Record<string, Check | null>>;

const orAbsent = (holds: (value: unknown) => boolean, must: string): Check => [
  (value) => value === undefined || holds(value),
  must,
];
const SCHEMA = orAbsent(isSchema, "must be a schema, or absent.");
const FUNCTION = orAbsent((value) => typeof value === "function", "must be a function, or absent.");
const BOOLEAN = orAbsent((value) => typeof value === "boolean", "must be true or false.");
const countTo = (most: number): Check => [
  (value) => value === undefined || (Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most),
  (value) => `must be an integer from 1 to ${most}, got ${String(value)}.`,
];

const FUNCTION_OPTIONS: Checks = {
  name: null,
  description: [isText, "is missing. The model selects functions by it."],
  input: [
    isSchema,
    "must be a schema. Use z.object({}) for a function without arguments, and fromTool for a tool of another library.",
  ],
  output: SCHEMA,
  roles: null,
  authorize: FUNCTION,
  approval: null,
  cases: orAbsent(isJsonObject, "must be an object of cases by name, or absent."),
  timeoutMs: null,
  detached: BOOLEAN,
  idempotent: BOOLEAN,
  effect: orAbsent(
    (value) => Effect.safeParse(value).success,
    `must be one of ${Effect.options.map((effect) => `"${effect}"`).join(", ")}.`,
  ),
  retries: null,
  title: null,
  tags: null,
  examples: null,
  openWorld: null,
  returns: null,
  targets: null,
  sends: null,
  verbs: null,
  foreign: null,
  deprecated: null,
  reconcile: FUNCTION,
  needsCallerToken: BOOLEAN,
  concurrency: countTo(LIMITS.functionConcurrency),
  handler: [(value) => typeof value === "function", "must be a function."],
};
const SERVICE_OPTIONS: Checks = {
  name: null,
  roles: null,
  defaultRole: null,
  context: SCHEMA,
  subject: FUNCTION,
  modelContext: FUNCTION,
  beforeQuery: FUNCTION,
  beforeAnswer: FUNCTION,
  beforeCall: FUNCTION,
  instructions: orAbsent((value) => typeof value === "string", "must be a string, or absent."),
  exampleQueries: null,
  records: FUNCTION,
  flows: null,
  results: null,
  functions: [Array.isArray, "must be a list of functions that defineFunction() returned."],
};

type Options = Readonly<Record<string, unknown>>;

/** Checks options at run time, for JavaScript, casts and computed values. */
function checkOptions(options: Options, checks: Checks, where: string): void {
  // A misspelt `authorize` would open the function to its whole role list.
  refuseUnknownOptions(options, Object.keys(checks), where);
  for (const [name, check] of Object.entries(checks)) {
    const [holds, must] = check ?? [];
    const value = options[name];
    if (holds?.(value) === false)
      throw new DefinitionError(`${where}: ${name} ${typeof must === "function" ? must(value) : must}`);
  }
}

/** Checks a function's options. Returns the function's name for messages. */
export function checkFunctionOptions(options: object): string {
  const { name, retries, idempotent, effect, detached } = options as Options;
  if (typeof name !== "string" || !FUNCTION_NAME.test(name))
    throw new DefinitionError(
      `A function cannot be named ${JSON.stringify(name)}. Use 1 to 64 of the characters A-Z a-z 0-9 _ . -`,
    );
  const where = `Function "${name}"`;
  const timeoutMs = countTo(detached === true ? LIMITS.detachedTimeoutMaxMs : LIMITS.functionTimeoutMaxMs);
  checkOptions(options as Options, { ...FUNCTION_OPTIONS, timeoutMs }, where);
  checkRetries(retries, idempotent === true || effect === "read", where);
  return where;
}

/** The roles for the manifest. A copy, so that later changes to the owner's list have no effect. */
export function checkRoles(roles: unknown, where: string): Roles {
  if (roles === "everyone") return roles;
  if (!Array.isArray(roles))
    throw new DefinitionError(
      `${where}: roles is missing. Give a list such as roles: ["support", "admin"], or roles: "everyone".`,
    );
  if (roles.length === 0)
    throw new DefinitionError(`${where}: roles is empty, so no role may call it. Add a role, or remove the function.`);
  const checked = roles.map((role: unknown) => checkRole(role, where));
  if (checked.includes("everyone"))
    throw new DefinitionError(
      `${where}: "everyone" in a list is a role of that name. Write roles: "everyone" to open the function to everyone.`,
    );
  return [...new Set(checked)];
}

export function checkRole(role: unknown, where: string): string {
  if (isLabel(role)) return role;
  throw new DefinitionError(
    `${where}: a role must be a string of 1–${LIMITS.labelUnits} characters, got ${JSON.stringify(role)}.`,
  );
}

/** Checks a service's options, without its functions. Returns the service's name for messages. */
export function checkServiceOptions(options: object): string {
  const { name } = options as Options;
  if (!isText(name)) throw new DefinitionError(`A service needs a name of 1 to ${LIMITS.labelUnits} characters.`);
  if (name.length > LIMITS.labelUnits)
    throw new DefinitionError(
      `A service name of ${name.length} characters exceeds the limit of ${LIMITS.labelUnits}. Shorten it.`,
    );
  const where = `Service "${name}"`;
  checkOptions(options as Options, SERVICE_OPTIONS, where);
  return where;
}

/** Throws for options that do not exist, because a misspelt one would have no effect. */
export function refuseUnknownOptions(options: object, known: readonly string[], where: string): void {
  const unknown = Object.keys(options).filter((member) => !known.includes(member));
  if (unknown.length > 0)
    throw new DefinitionError(`${where}: unknown option ${unknown.join(", ")}. The options are: ${known.join(", ")}.`);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0;
}

/**
 * A typical call to a function, such as one for the caller's own order. Tests and the access matrix evaluate
 * `authorize` with it.
 */
export interface FunctionCase<Input, Role extends string = string> {
  /** The arguments, as a model would write them. */
  input: Input;
  /** The object in the query's `contextJson`. Default `{}`. */
  context?: JsonObject;
  /** What a token would prove about the query's caller. Default: nothing. */
  caller?: CallerIdentity;
  /** The roles that the case applies to. Default: every role that may call the function. */
  roles?: readonly Role[];
}

/** A validated case. */
export interface CheckedCase {
  readonly input: JsonValue;
  readonly context: JsonObject;
  readonly caller: CallerIdentity | undefined;
  readonly roles: readonly string[] | undefined;
}

const CASE_PROPERTIES = ["input", "context", "caller", "roles"];

/**
 * Checks a function's cases. Throws for arguments that the schema refuses. A schema with an async refinement is
 * evaluated later, with the access matrix.
 */
export function checkCases(cases: object, parseInput: Parse, where: string): ReadonlyMap<string, CheckedCase> {
  return new Map(
    Object.entries(cases).map(([name, declared]: [string, unknown]) => {
      const of = `${where}: case "${name}"`;
      if (name === "" || name.length > 64)
        throw new DefinitionError(`${where}: the name of a case must have 1 to 64 characters.`);
      return [name, checkCase(declared, parseInput, of)];
    }),
  );
}

function checkCase(declared: unknown, parseInput: Parse, where: string): CheckedCase {
  const fault = (what: string) => new DefinitionError(`${where}: ${what}`);
  if (!isJsonObject(declared) || !("input" in declared))
    throw fault("a case must be an object with input, and optionally context, caller and roles.");
  const { context = {}, caller, roles } = declared;
  const unknown = Object.keys(declared).filter((member) => !CASE_PROPERTIES.includes(member));
  if (unknown.length > 0)
    throw fault(`unknown property ${unknown.join(", ")}. The properties are: ${CASE_PROPERTIES.join(", ")}.`);
  if (roles !== undefined && !Array.isArray(roles)) throw fault("roles must be a list of roles.");
  const input = copyOf(declared["input"], `${where}: input`);
  const parsed = parseInput(input);
  if (parsed instanceof Promise) parsed.catch(() => undefined);
  else if (!parsed.ok) throw fault(`the function does not accept its input: ${listFaults(parsed.faults)}`);
  if (caller !== undefined && !CallerIdentity.safeParse(caller).success)
    throw fault("caller must be an object with subject, issuer and claims, or absent.");
  return {
    input,
    context: contextOf(context, where),
    caller: caller as CallerIdentity | undefined,
    roles: roles?.map((role) => checkRole(role, where)),
  };
}

const EXAMPLE_PROPERTIES = ["query", "role", "context"];

/** The example queries for the manifest. Throws for a context that the schema refuses, unless the schema decides later. */
export function checkExampleQueries(list: unknown, parseContext: Parse | undefined, where: string): ExampleQuery[] {
  if (!Array.isArray(list)) throw new DefinitionError(`${where}: exampleQueries must be a list of queries, or absent.`);
  if (list.length > LIMITS.exampleQueriesPerService)
    throw new DefinitionError(
      `${where}: ${list.length} exampleQueries exceed the limit of ${LIMITS.exampleQueriesPerService}. Keep those that show most.`,
    );
  return list.map((example: unknown, i) => checkExampleQuery(example, parseContext, `${where}: exampleQueries[${i}]`));
}

function checkExampleQuery(declared: unknown, parseContext: Parse | undefined, where: string): ExampleQuery {
  const example = typeof declared === "string" ? { query: declared } : declared;
  if (!isJsonObject(example))
    throw new DefinitionError(`${where}: an example must be a text, or an object with query, role and context.`);
  refuseUnknownOptions(example, EXAMPLE_PROPERTIES, where);
  const { role, context } = example;
  const query = typeof example["query"] === "string" ? example["query"].trim() : "";
  if (query === "" || query.length > LIMITS.exampleQueryUnits)
    throw new DefinitionError(
      `${where}: the query must be a string of 1 to ${LIMITS.exampleQueryUnits} characters, got ${query === "" ? JSON.stringify(example["query"]) : query.length}.`,
    );
  return {
    query,
    ...(role !== undefined && { role: checkRole(role, where) }),
    ...(context !== undefined && { context: checkContext(context, parseContext, where) }),
  };
}

/** A copy as JSON, because the runtime sends it with its cases and examples. */
function copyOf(value: unknown, where: string): JsonValue {
  try {
    return toJson(value);
  } catch (cause) {
    throw new DefinitionError(`${where} is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function contextOf(value: unknown, where: string): JsonObject {
  const context = copyOf(value, `${where}: context`);
  if (!isJsonObject(context)) throw new DefinitionError(`${where}: context must be an object.`);
  return context;
}

function checkContext(value: unknown, parseContext: Parse | undefined, where: string): JsonObject {
  const context = contextOf(value, where);
  const parsed = parseContext?.(context);
  if (parsed instanceof Promise) parsed.catch(() => undefined);
  else if (parsed?.ok === false)
    throw new DefinitionError(`${where}: the service does not accept its context: ${listFaults(parsed.faults)}`);
  return context;
}

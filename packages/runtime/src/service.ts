import {
  DEFAULT_LIMITS,
  LIMITS,
  type CallOutcome,
  type ExampleQuery,
  type FunctionManifest,
  type HookCall,
  type HookVerdict,
  type Manifest,
  type PreparedContext,
} from "@patchbay/protocol";
import { type JsonValue, present } from "@patchbay/kit";
import type { AccessRequest, Refusal } from "./admission.ts";
import { checkApprovers } from "./approval.ts";
import { type ContextQuery, prepareContext, type SubjectQuery } from "./context.ts";
import { checkExampleQueries, checkRole, checkServiceOptions } from "./definition-checks.ts";
import { DefinitionError } from "./errors.ts";
import type { FunctionDefinition } from "./function.ts";
import { checkFlows, checkResults, type FlowOptions } from "./flow/options.ts";
import { indexFunctions, warnOfSharedNames } from "./indexed-functions.ts";
import { createGate } from "./gate.ts";
import { type AnswerHook, type CallHook, type QueryHook, runHook } from "./hooks.ts";
import type { Invocation, InvokeOptions } from "./invocation.ts";
import { defaultLog, silentLog, type Log } from "./log.ts";
import { readRoles, type ServiceRoles } from "./roles.ts";
import { codeIn, type OwnersCode } from "./schema/code.ts";
import { describeContext } from "./schema/describe.ts";
import { createParser } from "./schema/parser.ts";
import { parsingOf } from "./schema/parsing.ts";
import type { ContextOf, Parse, Schema } from "./schema/schema.ts";

/** A defined service: its functions behind one gate. A runtime connects it, and tests call it. */
export interface Service<Role extends string = string> {
  readonly manifest: Manifest;
  /** Checks a query's context and finds its subject. Faults have paths such as `contextJson.customerId`. */
  prepare(query: ContextQuery & { role?: Role }, options?: { log?: Log }): Promise<PreparedContext>;
  /**
   * Runs a hook on a query or on a text from the model. Never rejects. The verdict is `failed` if the service has no
   * such hook.
   */
  runHook(call: HookCall, options: { signal: AbortSignal; timeoutMs?: number; log?: Log }): Promise<HookVerdict>;
  /** Checks and runs one call. Never rejects: failures are outcomes. */
  invoke(invocation: Invocation, options: InvokeOptions): Promise<CallOutcome>;
  /**
   * Runs the checks of {@link invoke} without the handler. The refusal names the rule, so never send it to a caller. Never rejects.
   */
  check(request: AccessRequest, options?: { log?: Log }): Promise<{ ok: true } | Refusal>;
  /** The cases and restricted fields by function. A control plane receives the cases only with `reportCases`. */
  readonly access: ReadonlyMap<string, FunctionAccess>;
  /** As in {@link ServiceOptions.records}. */
  readonly records: NonNullable<ServiceOptions<undefined>["records"]>;
  /** What the context's schema does before it judges. */
  readonly parsing: () => Record<string, string>;
  /** The owner's code for all functions, by place: `context`, `subject`, `modelContext` and the hooks. Never sent to a control plane. */
  readonly code: () => Readonly<Record<string, OwnersCode[]>>;
}

export type { OwnersCode };

/** The parts of a function for its owner's tests, access matrix and lock. */
export type FunctionAccess = Pick<
  FunctionDefinition<never>,
  "manifest" | "parsing" | "output" | "cases" | "protection" | "code"
>;

/** Options for {@link defineService}. It refuses unknown options. */
export interface ServiceOptions<C extends Schema | undefined, Role extends string = string> {
  /**
   * Identifies the service: 1 to 200 characters, unique among an agent's services. Its newest deployment decides which
   * function set is active.
   */
  name: string;
  /**
   * All roles, so that a misspelt role in a function, a mark or a case throws a `DefinitionError`: a list, or an object
   * with options such as `{ support: {}, manager: { includes: ["support"] } }`. A role may do and see what the roles
   * that it includes may. Default: the roles that the functions name. At most 200, including the functions' roles.
   */
  roles?: ServiceRoles<Role>;
  /**
   * The role for queries that name none. Default: none, and such queries reach only functions for everyone. The control
   * plane sets it, so that a pinned key never gains it.
   */
  defaultRole?: NoInfer<Role>;
  /** Schema for the query's `contextJson`. A query whose context does not match is answered with 400. Default: any object. */
  context?: C;
  /** Names the identity that a query is about, such as a customer id. The model does not receive earlier turns with another subject. Default: turns are separated by role only. */
  subject?: (context: ContextOf<C>, query: SubjectQuery) => string | undefined | Promise<string | undefined>;
  /**
   * Selects the context part that the model receives. Default: the whole context. If it returns undefined, the model
   * receives nothing.
   */
  modelContext?: (context: ContextOf<C>) => unknown;
  /** Reads each query before the model, and may refuse it with `{ refuse: text }`. It has 10 seconds; then, and if it throws, the query ends with `internal`. */
  beforeQuery?: QueryHook<ContextOf<C>, NoInfer<Role>>;
  /**
   * Reads each text from the model before it is sent, and may refuse it with `{ refuse: text }` or replace it with `{
   * replace: text }`. It has 10 seconds for each; then, and if it throws, the query ends with `internal`. With this
   * hook, texts are not streamed while the model writes them.
   */
  beforeAnswer?: AnswerHook<ContextOf<C>, NoInfer<Role>>;
  /**
   * Sees each call that is about to run, also one without a model, and may refuse it with `{ refuse: text }`. It has 10
   * seconds of the call's time; then, and if it throws, the call is refused. Not asked by checks without a handler.
   */
  beforeCall?: CallHook<ContextOf<C>, NoInfer<Role>>;
  /** Text for the model in every query, after the agent's instructions. It counts toward a function set's 512 KiB. */
  instructions?: string;
  /**
   * Queries that show what the service answers: `patchbay dev` and the console's playground offer them, with their role
   * and context. They are never sent to a model provider. At most 20, each with at most 500 characters.
   */
  exampleQueries?: readonly (string | (Omit<ExampleQuery, "role"> & { role?: NoInfer<Role> | undefined }))[];
  /**
   * Values that find records, by their member's name, such as `{ orderId: ["W100"] }`. Only `patchbay access` calls it.
   */
  records?: () => Record<string, readonly JsonValue[]> | Promise<Record<string, readonly JsonValue[]>>;
  /**
   * What happens to calls that the functions' `targets` and `sends` do not allow: `{ mode: "ask", by: ["caller"] }`.
   * Default: nothing.
   */
  flows?: FlowOptions<NoInfer<Role>>;
  /**
   * `"withhold"`: clients get no result, no text of a failed handler and no progress before `beforeAnswer` has allowed
   * the answer, and none if it refuses or replaces a text. Calls without a model give no result. The console has all.
   * Default: results are sent at once.
   */
  results?: "withhold";
  /**
   * The functions from `defineFunction`: at most 200, each name once, else a `DefinitionError`. A warning names
   * functions with the same name for models and MCP clients, such as `a.b` and `a_b`. The agent's other connected
   * services share the limit.
   */
  functions: readonly (FunctionDefinition | FunctionDefinition<ContextOf<C>>)[];
}

/** Defines a service. Throws `DefinitionError` for mistakes that would otherwise appear in queries. */
export function defineService<C extends Schema | undefined = undefined, const Role extends string = string>(
  options: ServiceOptions<C, Role>,
): Service<Role> {
  // The gate's own role list checks leave only roles of the service, as which the owner's code knows its callers.
  return serviceOf(options as unknown as ServiceOptions<C>);
}

function serviceOf<C extends Schema | undefined>(options: ServiceOptions<C>): Service {
  const where = checkServiceOptions(options);
  const { context, subject, modelContext, beforeQuery, beforeAnswer, beforeCall, records } = options;
  const flows = checkFlows(options.flows, where);
  const withheld = checkResults(options.results, beforeAnswer, where);
  const roles = readRoles(options.roles, where);
  const functions = indexFunctions(options.functions, { context, flows, inclusions: roles.options, withheld, where });
  warnOfSharedNames([...functions.keys()], options.name);
  const parseContext = context === undefined ? undefined : createParser(context, "input", `${where}: context`);
  const manifest = describeService(options, functions, { roles, parseContext, where });
  const reader = { parse: parseContext, subject, modelContext };
  const hooks = { parse: parseContext, beforeQuery, beforeAnswer };
  const access = new Map(
    [...functions].map(([name, definition]) => {
      const { manifest, parsing, output, cases, protection, code } = definition;
      return [name, { manifest, parsing, output, cases, protection, code }];
    }),
  );
  const code = () => ({
    context: codeIn(context, manifest.contextSchema),
    ...Object.fromEntries(
      Object.entries({ subject, modelContext, beforeQuery, beforeAnswer, beforeCall }).flatMap(([place, run]) =>
        run ? [[place, [{ run, isWrapped: false }]]] : [],
      ),
    ),
  });
  const build = (gated: ReadonlyMap<string, FunctionDefinition<never>>, review?: CallHook<never>): Service => {
    const { invoke, check } = createGate({ functions: gated, parseContext, beforeCall: review });
    const service: Service = {
      manifest,
      prepare: (query, { log = defaultLog() } = {}) => prepareContext(reader, query, log),
      runHook: (call, { signal, timeoutMs = LIMITS.hookTimeoutMs, log = defaultLog() }) =>
        runHook(hooks, call, { signal, timeoutMs, log }),
      invoke,
      check: (request, { log = silentLog } = {}) => check(request, { log }),
      access,
      records: () => records?.() ?? {},
      parsing: () => parsingOf(context),
      code,
    };
    // Without the hook, which would hide what the other rules let through.
    // Not enumerable, so that a service copy with another `invoke` does not give access to the original gate.
    const substitute: Substitute = (handlerFor) =>
      build(new Map([...functions].map(([name, fn]) => [name, Object.freeze({ ...fn, handler: handlerFor(fn) })])));
    return Object.freeze(Object.defineProperty(service, SUBSTITUTE, { value: substitute }));
  };
  return build(functions, beforeCall);
}

/** Registered globally, because the service may come from another copy of this package than its test. */
const SUBSTITUTE = Symbol.for("patchbay.service.substitute");

type Handler = FunctionDefinition<never>["handler"];
type Substitute = (handlerFor: (definition: FunctionDefinition<never>) => Handler) => Service;

/**
 * The same service with other handlers behind the same gate, so that a test finds the passing calls without any real
 * effect. Throws a `TypeError` for a service copy or wrapper.
 */
export function substituteHandlers(service: Service, handlerFor: Parameters<Substitute>[0]): Service {
  const substitute = (service as { [SUBSTITUTE]?: Substitute })[SUBSTITUTE];
  if (substitute) return substitute(handlerFor);
  throw new TypeError("This service is a copy or a wrapper. Give the service that defineService() returned.");
}

/** True for a service from {@link defineService}, also from another copy of this package. */
export function isService(value: unknown): value is Service {
  if (typeof value !== "object" || value === null) return false;
  const { manifest, prepare, invoke } = value as Partial<Service>;
  return typeof manifest === "object" && typeof prepare === "function" && typeof invoke === "function";
}

/** `AGENT:titles` is a model at the endpoint for OpenAI clients; `AGENT:ROLE` chooses a role there. */
const TASKS = "titles";

interface Described {
  roles: ReturnType<typeof readRoles>;
  parseContext: Parse | undefined;
  where: string;
}

function describeService<C extends Schema | undefined>(
  options: ServiceOptions<C>,
  functions: ReadonlyMap<string, FunctionDefinition<never>>,
  { roles: declared, parseContext, where }: Described,
): Manifest {
  const { name, defaultRole, instructions, context, subject, modelContext } = options;
  const { beforeQuery, beforeAnswer, beforeCall } = options;
  const { names: roles, options: roleOptions } = declared;
  if (defaultRole !== undefined) checkKnown(roles, checkRole(defaultRole, where), `${where}: defaultRole`);
  const definitions = [...functions.values()];
  const named = definitions.flatMap(({ manifest }) => (manifest.roles === "everyone" ? [] : manifest.roles));
  const known = roles ?? [...new Set([...named, ...(defaultRole === undefined ? [] : [defaultRole])])];
  for (const role of [...known, ...named])
    if (role === TASKS)
      throw new DefinitionError(
        `${where}: "${TASKS}" cannot be a role, because OpenAI clients name the model of their background tasks so. Rename the role.`,
      );
  const exampleQueries = checkExampleQueries(options.exampleQueries ?? [], parseContext, where);
  for (const [i, { role }] of exampleQueries.entries())
    if (role !== undefined) checkKnown(known, role, `${where}: exampleQueries[${i}]`);
  for (const { manifest, protection, cases } of definitions) {
    const of = `${where}: function "${manifest.name}"`;
    for (const role of manifest.roles === "everyone" ? [] : manifest.roles) checkKnown(roles, role, of);
    // A misspelt role in a mark would remove the field for every role, which is easy to overlook.
    for (const role of protection?.roles ?? []) checkKnown(known, role, `${of}: a mark of its output`);
    checkApprovers(manifest, known, manifest.approval ? `${of}: approval.by` : `${where}: flows.by`);
    for (const [name, definition] of cases)
      for (const role of definition.roles ?? []) checkKnown(known, role, `${of}: case "${name}"`);
  }

  const manifest: Manifest = {
    name,
    ...present({ roles, roleOptions, defaultRole, instructions }),
    preparesContext: context !== undefined || subject !== undefined || modelContext !== undefined,
    checksContext: context !== undefined,
    ...present({ contextSchema: context && describeContext(context) }),
    namesSubject: subject !== undefined,
    ...(beforeQuery && { beforeQuery: true }),
    ...(beforeAnswer && { beforeAnswer: true }),
    ...(beforeCall && { beforeCall: true }),
    ...(exampleQueries.length > 0 && { exampleQueries }),
    functions: definitions.map((definition) => definition.manifest),
  };
  if (sizeOf(manifest) <= DEFAULT_LIMITS.manifestBytes) return manifest;
  // Output schemas are only needed to compare function sets, so they must not make a service too large.
  const { contextSchema: _, ...rest } = manifest;
  const withoutOutputs = { ...rest, functions: manifest.functions.map(withoutOutput) };
  const sizeBytes = sizeOf(withoutOutputs);
  if (sizeBytes > MANIFEST_BYTES)
    throw new DefinitionError(
      `${where}: its function set has ${sizeBytes} bytes, which exceed the limit of ${MANIFEST_BYTES}. Shorten schemas and descriptions, or split the service.`,
    );
  return withoutOutputs;
}

function withoutOutput(manifest: FunctionManifest): FunctionManifest {
  const { outputSchema: _, ...rest } = manifest;
  return rest;
}

function sizeOf(manifest: Manifest): number {
  return Buffer.byteLength(JSON.stringify(manifest));
}

/** The manifest must fit into one frame, next to a few short properties. */
const MANIFEST_BYTES = LIMITS.frameBytes - 1024;

function checkKnown(roles: readonly string[] | undefined, role: string, where: string): void {
  if (roles !== undefined && !roles.includes(role))
    throw new DefinitionError(
      `${where} names the role "${role}", which is ${roles.length === 0 ? "not a role of any function; list it in the roles of the service" : `not among ${roles.join(", ")}`}.`,
    );
}

import {
  DEFAULT_LIMITS,
  LIMITS,
  type CallOutcome,
  type FunctionManifest,
  type HookCall,
  type HookVerdict,
  type JsonObject,
  type Manifest,
  type PreparedContext,
} from "@patchbay/protocol";
import type { AccessRequest, Refusal } from "./admission.ts";
import { prepareContext } from "./context.ts";
import { checkRole, checkRoles, checkServiceOptions } from "./definition-checks.ts";
import { DefinitionError } from "./errors.ts";
import type { FunctionDefinition } from "./function.ts";
import { createGate } from "./gate.ts";
import { type AnswerHook, type QueryHook, runHook } from "./hooks.ts";
import type { Invocation, InvokeOptions } from "./invocation.ts";
import { createLog, silentLog, type Log } from "./log.ts";
import { createParser } from "./schema/parser.ts";
import type { OutputOf, Schema } from "./schema/schema.ts";

/** A set of functions behind one gate: what a runtime connects and what tests call. */
export interface Service {
  readonly manifest: Manifest;
  /** Checks and reads the context of a query. Faults carry paths such as `contextJson.customerId`. */
  prepare(query: { role?: string; context: JsonObject }, options?: { log?: Log }): Promise<PreparedContext>;
  /** Runs a hook on a query or on a text of the model. Never rejects. Without such a hook the verdict is `failed`. */
  runHook(call: HookCall, options: { signal: AbortSignal; timeoutMs?: number; log?: Log }): Promise<HookVerdict>;
  /** Runs one call through every check. Never rejects: failures are outcomes. */
  invoke(invocation: Invocation, options: InvokeOptions): Promise<CallOutcome>;
  /**
   * Asks the checks of {@link invoke} whether a call would get to its handler, and runs no handler. Names the rule that refused, so
   * the answer is the owner's: never send it to a caller. Never rejects.
   */
  check(request: AccessRequest, options?: { log?: Log }): Promise<{ ok: true } | Refusal>;
  /** What is declared of who gets what, beside the manifest. Never sent. */
  readonly access: ReadonlyMap<string, FunctionAccess>;
}

/** What a function declares for its owner's tests and access matrix. */
export type FunctionAccess = Pick<FunctionDefinition<never>, "cases" | "protection">;

/** The context that a service's schema makes; without a schema, the object that was sent. */
export type ContextOf<C> = C extends Schema ? OutputOf<C> : JsonObject;

/** What {@link defineService} takes. */
export interface ServiceOptions<C extends Schema | undefined> {
  name: string;
  /** Every role there is. Where it is given, a function that names another is a mistake. */
  roles?: readonly string[];
  /** The role of queries that send none; the control plane puts it in their place, so that a key pinned to roles never gains it. */
  defaultRole?: string;
  /** What the contextJson of a query must be; a query that does not meet it is refused before it begins. */
  context?: C;
  /** Whose data a query is about: the model is not shown earlier turns about somebody else's. */
  subject?: (context: ContextOf<C>) => string | undefined | Promise<string | undefined>;
  /** What of the context the model is told; all of it unless given, nothing where it returns undefined. */
  tellModel?: (context: ContextOf<C>) => unknown;
  /** Sees each query before a model does, and may refuse it with `{ refuse: text }`. */
  beforeQuery?: QueryHook<ContextOf<C>>;
  /**
   * Sees each text of the model before anyone else does, and may refuse it with `{ refuse: text }` or replace it with
   * `{ replace: text }`. The texts are then not shown while the model writes them.
   */
  beforeAnswer?: AnswerHook<ContextOf<C>>;
  /** Told to the model after the agent's own. */
  instructions?: string;
  /** At most 200, each name once. */
  functions: readonly (FunctionDefinition | FunctionDefinition<ContextOf<C>>)[];
}

/** Puts functions behind one gate. Throws DefinitionError for mistakes that would show only in a query. */
export function defineService<C extends Schema | undefined = undefined>(options: ServiceOptions<C>): Service {
  const where = checkServiceOptions(options);
  const { context, subject, tellModel, beforeQuery, beforeAnswer } = options;
  const functions = indexFunctions(options.functions, context, where);
  const manifest = describeService(options, functions, where);
  const parseContext = context === undefined ? undefined : createParser(context, "input", `${where}: context`);
  const reader = { parse: parseContext, subject, tellModel };
  const hooks = { parse: parseContext, beforeQuery, beforeAnswer };
  const access = new Map([...functions].map(([name, { cases, protection }]) => [name, { cases, protection }]));
  const build = (behind: ReadonlyMap<string, FunctionDefinition<never>>): Service => {
    const { invoke, check } = createGate({ functions: behind, parseContext });
    const service: Service = {
      manifest,
      prepare: (query, { log = createLog() } = {}) => prepareContext(reader, query.context, log),
      runHook: (call, { signal, timeoutMs = LIMITS.hookTimeoutMs, log = createLog() }) =>
        runHook(hooks, call, { signal, timeoutMs, log }),
      invoke,
      check: (request, { log = silentLog } = {}) => check(request, { log }),
      access,
    };
    // Not enumerable: a copy of a service whose `invoke` somebody replaced must not give away the gate it no longer has.
    const substitute: Substitute = (handlerFor) =>
      build(new Map([...functions].map(([name, one]) => [name, Object.freeze({ ...one, handler: handlerFor(one) })])));
    return Object.freeze(Object.defineProperty(service, SUBSTITUTE, { value: substitute }));
  };
  return build(functions);
}

/** Registered for the whole process: the service may come from another copy of this package than the one that tests it. */
const SUBSTITUTE = Symbol.for("patchbay.service.substitute");

type Handler = FunctionDefinition<never>["handler"];
type Substitute = (handlerFor: (definition: FunctionDefinition<never>) => Handler) => Service;

/**
 * The same service with other handlers behind the same gate: what a test needs to find out who gets through without touching
 * anything real. Throws a TypeError for what `defineService` did not return.
 */
export function substituteHandlers(service: Service, handlerFor: Parameters<Substitute>[0]): Service {
  const substitute = (service as { [SUBSTITUTE]?: Substitute })[SUBSTITUTE];
  if (substitute) return substitute(handlerFor);
  throw new TypeError("This service is a copy or a wrapper: give what defineService() returned.");
}

/** True for what {@link defineService} returned, by whichever copy of this package. */
export function isService(value: unknown): value is Service {
  if (typeof value !== "object" || value === null) return false;
  const { manifest, prepare, invoke } = value as Partial<Service>;
  return typeof manifest === "object" && typeof prepare === "function" && typeof invoke === "function";
}

function indexFunctions(
  definitions: readonly FunctionDefinition<never>[],
  context: Schema | undefined,
  where: string,
): Map<string, FunctionDefinition<never>> {
  if (definitions.length > LIMITS.functionsPerService)
    throw new DefinitionError(
      `${where}: ${definitions.length} functions, at most ${LIMITS.functionsPerService} are taken. Split the service in two agents.`,
    );
  const byName = new Map<string, FunctionDefinition<never>>();
  for (const [i, definition] of definitions.entries()) {
    // Two modules that import each other leave undefined here.
    const name = (definition as Partial<FunctionDefinition<never>> | undefined)?.manifest?.name;
    if (name === undefined) throw new DefinitionError(`${where}: functions[${i}] is not what defineFunction returned.`);
    if (byName.has(name)) throw new DefinitionError(`${where}: two functions are named "${name}".`);
    if (definition.contextSchema !== undefined && definition.contextSchema !== context)
      throw new DefinitionError(
        `${where}: function "${name}" was made for another context. Give the service the schema that functionsFor() was given.`,
      );
    byName.set(name, definition);
  }
  return byName;
}

function describeService<C extends Schema | undefined>(
  options: ServiceOptions<C>,
  functions: ReadonlyMap<string, FunctionDefinition<never>>,
  where: string,
): Manifest {
  const { name, defaultRole, instructions, context, subject, tellModel, beforeQuery, beforeAnswer } = options;
  const roles = options.roles === undefined ? undefined : checkRoles(options.roles, where);
  if (roles === "everyone") throw new DefinitionError(`${where}: roles must be a list of all roles.`);
  if (defaultRole !== undefined) checkKnown(roles, checkRole(defaultRole, where), `${where}: defaultRole`);
  const definitions = [...functions.values()];
  const named = definitions.flatMap((one) => (one.manifest.roles === "everyone" ? [] : one.manifest.roles));
  for (const { manifest, protection, cases } of definitions) {
    const of = `${where}: function "${manifest.name}"`;
    for (const role of manifest.roles === "everyone" ? [] : manifest.roles) checkKnown(roles, role, of);
    // A misspelt role in a mark would hide a member from all: nobody would notice before it was missed.
    const known = roles ?? [...new Set([...named, ...(defaultRole === undefined ? [] : [defaultRole])])];
    for (const role of protection?.roles ?? []) checkKnown(known, role, `${of}: a mark of its output`);
    for (const [name, one] of cases)
      for (const role of one.roles ?? []) checkKnown(known, role, `${of}: case "${name}"`);
  }

  const manifest: Manifest = {
    name,
    ...(roles === undefined ? {} : { roles }),
    ...(defaultRole === undefined ? {} : { defaultRole }),
    ...(instructions === undefined ? {} : { instructions }),
    preparesContext: context !== undefined || subject !== undefined || tellModel !== undefined,
    checksContext: context !== undefined,
    namesSubject: subject !== undefined,
    ...(beforeQuery && { beforeQuery: true }),
    ...(beforeAnswer && { beforeAnswer: true }),
    functions: definitions.map((definition) => definition.manifest),
  };
  if (sizeOf(manifest) <= DEFAULT_LIMITS.manifestBytes) return manifest;
  // Output schemas serve the comparison with an earlier set only: a service must not be refused because of them.
  const withoutOutputs = { ...manifest, functions: manifest.functions.map(withoutOutput) };
  const sizeBytes = sizeOf(withoutOutputs);
  if (sizeBytes > MANIFEST_BYTES)
    throw new DefinitionError(
      `${where}: its description has ${sizeBytes} bytes, at most ${MANIFEST_BYTES} are taken. Shorten schemas and descriptions, or split the service.`,
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

/** The manifest travels in one frame, beside a few short members. */
const MANIFEST_BYTES = LIMITS.frameBytes - 1024;

function checkKnown(roles: readonly string[] | undefined, role: string, where: string): void {
  if (roles !== undefined && !roles.includes(role))
    throw new DefinitionError(
      `${where} names the role "${role}", which is ${roles.length === 0 ? "a role of no function; list it in the roles of the service" : `not among ${roles.join(", ")}`}.`,
    );
}

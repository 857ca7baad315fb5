import { actsAs, LIMITS, type Effect, type FunctionManifest } from "@patchbay/protocol";
import { type JsonObject, present } from "@patchbay/kit";
import { type ApprovalOptions, checkApproval } from "./approval.ts";
import { checkCases, type CheckedCase, checkFunctionOptions, checkRoles } from "./definition-checks.ts";
import type { Access, Decision } from "./decision.ts";
import type { FunctionCase } from "./definition-checks.ts";
import { createLabels, type Labels } from "./flow/labels.ts";
import { checkFlow, type FunctionFlow } from "./flow/options.ts";
import { checkLabels } from "./labels.ts";
import type { CallContext } from "./invocation.ts";
import type { Interrupted, Reconciled } from "./reconcile.ts";
import type { Retries } from "./retries.ts";
import { createProtection, type Protection } from "./redaction/protection.ts";
import { visibleTo } from "./redaction/visible-to.ts";
import { readRoles, type ServiceRoles } from "./roles.ts";
import { codeIn, type OwnersCode } from "./schema/code.ts";
import { describeInput, describeResult } from "./schema/describe.ts";
import { createParser } from "./schema/parser.ts";
import { parsingOf } from "./schema/parsing.ts";
import type { ContextOf, InputOf, MemberOf, OutputOf, Parse, Schema } from "./schema/schema.ts";
import { isRaw } from "./schema/schema.ts";

/** The `roles` value for a function that is open to every query, with or without a role. */
export const everyone = "everyone";

/** Options for {@link defineFunction}. It refuses unknown options. */
export interface FunctionOptions<
  I extends Schema,
  O extends Schema | undefined,
  Context,
  Result = ResultOf<O>,
  Found = ResultOf<O>,
  Bare = never,
  Role extends string = string,
> extends FunctionFlow<MemberOf<I>> {
  /**
   * Identifies the function for the model, in tests and in the lock: 1 to 64 characters from `A-Za-z0-9_.-`, unique in
   * its service and among an agent's connected services.
   */
  name: string;
  /** Text for the model: what the function does and when to use it. The model selects functions by it. */
  description: string;
  /**
   * An object schema, which each call's arguments must match: zod 4, zod 3, a Standard Schema that can write JSON
   * Schema, or raw JSON Schema 2020-12. At most 64 KiB as JSON Schema. A call with other arguments fails with
   * `invalid_arguments`, and the model can correct it.
   */
  input: I;
  /**
   * Result schema. Properties that it does not list, or marks for other roles ({@link visibleTo}), are removed. A
   * result that does not match fails the call with `function_failed`. Default: none, and the whole result is sent.
   */
  output?: O;
  /**
   * The roles that may call the function: 1 to 100 names with 1 to 200 characters each, or `"everyone"`. Required.
   * For other roles the function does not exist.
   */
  roles: typeof everyone | readonly Role[];
  /**
   * Decides each call, after the roles, the context and the input were checked. Any result except `true`, and an exception, refuses
   * the call with `denied`; the caller can read a string. Its time counts toward `timeoutMs`. Default: the role list decides.
   */
  authorize?: (access: Access<OutputOf<I>, Context, Role>) => Decision | Promise<Decision>;
  /**
   * Lets people approve calls after `authorize` and before the handler. The run waits for the decision without a
   * separate time limit, and then every check runs again. Default: no call needs an approval.
   */
  approval?: ApprovalOptions<Access<OutputOf<I>, Context, Role>, MemberOf<I>, Role>;
  /** Typical calls by name (1 to 64 characters), for tests, the access matrix and the console. The control plane receives their names and the decisions on them, and their contents only with `reportCases`; no handler runs for them. Arguments that the input schema refuses throw a `DefinitionError`. */
  cases?: Readonly<Record<string, FunctionCase<InputOf<I>, Role>>>;
  /**
   * Milliseconds that `authorize` and the handler may take: 1 to 86,400,000, default 60,000. Then the signal is aborted and the
   * call ends with `timed_out`. The time that the run has left also limits it, unless the function is `detached`.
   */
  timeoutMs?: number;
  /** Lets the handler run for hours: the run waits without a process, also over restarts. `timeoutMs` is then up to 604,800,000, default 3,600,000. If the runtime ends, the call is `outcome_unknown`, or repeated once if it is `idempotent`. The runtime's `concurrency` does not count it. Default false. */
  detached?: boolean;
  /** True if a call may safely run twice. It may then be delivered again, at most twice (or up to `retries.max` attempts) and with the same call id, after a lost connection. Default false: such a call ends with `outcome_unknown`. */
  idempotent?: boolean;
  /**
   * What a call does to your data: `"read"`, `"write"` or `"destructive"`. Default `"write"`. A run may make 10 equal
   * calls to a function that reads, else 3. If a writing call ends midway, its message says that it may have taken
   * effect.
   */
  effect?: Effect;
  /**
   * Tries a call again after a handler error, in whichever runtime is free: at most `max` attempts, with a growing
   * pause. Only for functions with `effect: "read"` or `idempotent: true`. `ctx.attempt` counts the attempts. The
   * caller sees the last one.
   */
  retries?: Retries;
  /** Name for people in the console, 1 to 200 characters. Default: `name`. */
  title?: string;
  /** Labels for people, by which the console groups and finds functions: at most 20 with 1 to 200 characters each. */
  tags?: readonly string[];
  /**
   * Valid arguments, at most 5 examples with at most 4 KiB each. Claude reads them with the schema, other models do
   * not, and the console offers them for test calls. Arguments that the input schema refuses throw a `DefinitionError`.
   */
  examples?: readonly InputOf<I>[];
  /**
   * Whether the function reaches systems outside your own, such as the web. Clients can show it; it limits nothing.
   * Default false.
   */
  openWorld?: boolean;
  /**
   * What to use instead, 1 to 200 characters, such as `"use refund_order"`. The function can still be called, but
   * models do not see it, and each call is in the audit log and in the runtime's log.
   */
  deprecated?: string;
  /**
   * Finds out whether a call took effect if its connection was lost before the answer. The call is then delivered
   * again: after every check, `{ done: true, result }` ends it with that result, `{ done: false }` runs the handler,
   * and `"unknown"`, an exception or any other answer ends it with `outcome_unknown`. Default: such a call ends with
   * `outcome_unknown`, unless it may run twice.
   */
  reconcile?: (call: Interrupted<OutputOf<I>, Context>) => Reconciled<Found> | Promise<Reconciled<Found>>;
  /**
   * True if the handler acts with the caller's token, `ctx.caller.token`. It is never stored. Without one, a call ends
   * before its handler starts: `denied` for a query without a token, `caller_token_expired` once the token has expired, after
   * another replica has taken over the run, and where only another replica has the runtime's connection. Not with an
   * approval by others. Default false.
   */
  needsCallerToken?: boolean;
  /**
   * The function's handlers that may run at the same time, over all the service's runtimes: 1 to 10,000. Further calls
   * wait in order; the wait counts toward the run's time, and not toward `timeoutMs`. Default: only each runtime's
   * `concurrency` limits them.
   */
  concurrency?: number;
  /**
   * Runs a call that passed every check. Its result, JSON of at most 256 KiB, goes into the run's log, and its first 32
   * KiB to the model. The caller reads a `FunctionError` message; any other error appears only in the runtime's log, as
   * `function_failed`.
   */
  handler: (input: OutputOf<I>, context: CallContext<Context, Role>) => Result | Promise<Result> | (Result & Bare);
}

/** What a handler may return: the output schema's input type, also with readonly members. */
type ResultOf<O> = DeepReadonly<InputOf<O>>;

type DeepReadonly<T> = T extends Literal | symbol | null | undefined | Date
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

type Literal = string | number | bigint | boolean;

/** A defined function. Only a service runs its handler, after every check. */
export interface FunctionDefinition<Context = JsonObject> {
  readonly manifest: FunctionManifest;
  readonly parseInput: Parse;
  /** What the input schema does before it judges. */
  readonly parsing: () => Record<string, string>;
  /** The owner's result schema. */
  readonly output: Schema | undefined;
  readonly parseOutput: Parse | undefined;
  /** Removes restricted fields from results. Undefined if the output schema has no marks. */
  readonly protection: Protection | undefined;
  /** Labels results. Undefined without labels in the output schema. */
  readonly labels: Labels | undefined;
  readonly cases: ReadonlyMap<string, CheckedCase>;
  /**
   * The owner's code that decides on a call and its result, without the handler, by place: `authorize`, `approval`,
   * `input`, `output`.
   */
  readonly code: () => Readonly<Record<string, OwnersCode[]>>;
  /** The handler's context schema. Undefined: the handler receives the context as it was sent. */
  readonly contextSchema: Schema | undefined;
  readonly authorize: ((access: Access<never, Context>) => Decision | Promise<Decision>) | undefined;
  /** The owner's `when`. The rest is in the manifest. */
  readonly needsApproval: ((access: Access<never, Context>) => Decision | Promise<Decision>) | undefined;
  readonly retries: Retries | undefined;
  readonly reconcile: ((call: Interrupted<never, Context>) => unknown) | undefined;
  readonly handler: (input: never, context: CallContext<Context>) => unknown;
}

/**
 * Defines a function. Throws `DefinitionError` for mistakes that would fail later. The handler receives the context as
 * it was sent; {@link functionsFor} gives it a schema's type.
 */
export function defineFunction<
  I extends Schema,
  O extends Schema | undefined = undefined,
  // Inferred from what the handler and `reconcile` return, so that literals and tuples are not widened.
  const Result extends ResultOf<O> = ResultOf<O>,
  const Found extends ResultOf<O> = ResultOf<O>,
  // TypeScript 5 widens a literal that is the whole result unless a parameter is constrained to literals.
  const Bare extends Literal = never,
>(options: FunctionOptions<I, O, JsonObject, Result, Found, Bare>): FunctionDefinition {
  return define(options, undefined);
}

/**
 * Returns a {@link defineFunction} for functions of a service with this context schema, or `undefined`, and these roles:
 * their code receives the context as the schema's output type, and a role that the service does not have is a type
 * error. `includes(role, "support")` is true for `support` and for roles that include it.
 *
 * ```ts
 * export const orderContext = z.object({ customerId: z.string().optional() });
 * export const roles = { customer: {}, support: {}, manager: { includes: ["support"] } };
 * const { defineFunction, includes, visibleTo } = functionsFor(orderContext, roles);
 * ```
 */
export function functionsFor<C extends Schema | undefined, const Role extends string = string>(
  contextSchema: C,
  roles?: ServiceRoles<Role>,
) {
  const { options: inclusions } = readRoles(roles, "functionsFor");
  return {
    visibleTo: <S extends Schema>(schema: S, listed: readonly Role[]): S => visibleTo(schema, listed),
    includes: (role: Role | undefined, other: Role): boolean =>
      role !== undefined && actsAs(role, inclusions).has(other),
    defineFunction<
      I extends Schema,
      O extends Schema | undefined = undefined,
      const Result extends ResultOf<O> = ResultOf<O>,
      const Found extends ResultOf<O> = ResultOf<O>,
      const Bare extends Literal = never,
    >(options: FunctionOptions<I, O, ContextOf<C>, Result, Found, Bare, Role>): FunctionDefinition<ContextOf<C>> {
      // Which roles there are is known to the service, which refuses others.
      return define(options as unknown as FunctionOptions<I, O, ContextOf<C>, unknown, unknown>, contextSchema);
    },
  };
}

function define<I extends Schema, O extends Schema | undefined, Context>(
  options: FunctionOptions<I, O, Context, unknown, unknown>,
  contextSchema: Schema | undefined,
): FunctionDefinition<Context> {
  const where = checkFunctionOptions(options);
  const {
    name,
    description,
    input,
    output,
    cases = {},
    authorize,
    approval,
    retries,
    reconcile,
    concurrency,
    handler,
  } = options;
  const inputSchema = describeInput(input, `${where}: input`);
  const parseInput = createParser(input, "input", `${where}: input`);
  const protection = output === undefined ? undefined : createProtection(output, `${where}: output`);
  const labels = output === undefined ? undefined : createLabels(output, `${where}: output`);
  const outputSchema = output === undefined ? undefined : describeResult(output);
  return Object.freeze({
    manifest: Object.freeze({
      name,
      description,
      inputSchema,
      ...(isRaw(input) && { keepsUnlisted: true }),
      roles: checkRoles(options.roles, where),
      conditional: authorize !== undefined,
      effect: options.effect ?? "write",
      idempotent: options.idempotent ?? false,
      timeoutMs: options.timeoutMs ?? (options.detached ? LIMITS.detachedTimeoutMs : LIMITS.functionTimeoutMs),
      ...(options.detached && { detached: true }),
      ...checkLabels(options, parseInput, where),
      ...(approval !== undefined && { approval: checkApproval(approval, inputSchema, where) }),
      ...present({ restrictedFields: protection?.members, redactions: protection?.redactions, outputSchema }),
      ...(retries && { retries: { max: retries.max } }),
      ...(reconcile && { reconciles: true }),
      ...(options.needsCallerToken && { needsCallerToken: true }),
      ...present({ concurrency, flow: checkFlow(options, { inputSchema, labels, where }) }),
    }),
    parseInput,
    parsing: () => parsingOf(input),
    output,
    parseOutput: output === undefined ? undefined : createParser(output, "output", `${where}: output`),
    protection,
    labels,
    cases: checkCases(cases, parseInput, where),
    code: () => ({
      ...(authorize && { authorize: [{ run: authorize, isWrapped: false }] }),
      ...(approval?.when && { approval: [{ run: approval.when, isWrapped: false }] }),
      input: codeIn(input, inputSchema),
      output: codeIn(output, outputSchema),
    }),
    contextSchema,
    authorize,
    needsApproval: approval?.when,
    retries: retries && { ...retries },
    reconcile,
    handler,
  });
}

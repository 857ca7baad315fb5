import { LIMITS, type Effect, type FunctionManifest, type JsonObject, present } from "@patchbay/protocol";
import { type ApprovalOptions, checkApproval } from "./approval.ts";
import {
  checkCases,
  type CheckedCase,
  checkFunctionOptions,
  checkRoles,
  type FunctionCase,
} from "./definition-checks.ts";

import { checkLabels } from "./labels.ts";
import type { CallContext } from "./invocation.ts";
import type { Interrupted, Reconciled } from "./reconcile.ts";
import type { Retries } from "./retries.ts";
import { createProtection, type Protection } from "./redaction/protection.ts";
import { codeIn, type OwnersCode } from "./schema/code.ts";
import { describeInput, describeResult } from "./schema/describe.ts";
import { createParser } from "./schema/parser.ts";
import { isRaw, type InputOf, type OutputOf, type Parse, type Schema } from "./schema/schema.ts";

/** The `roles` of a function that is open to every query, with or without a role. */
export const everyone = "everyone";

/** The decision of `authorize`: `true` allows the call, `false` refuses it, a string refuses it with that message for the model and the caller. */
export type Decision = boolean | string;

/** The call that `authorize` decides on. */
export interface Access<Input, Context> {
  /** The role of the query, or the service's default role. Undefined without both. */
  readonly role: string | undefined;
  /** The object of the query's `contextJson`, as the service's schema parsed it; `{}` if the query had none. */
  readonly context: Context;
  /** The arguments of the call, as the input schema parsed them. The model wrote them, so do not take an identity from them. */
  readonly input: Input;
}

/** The options of {@link defineFunction}. It refuses unknown options. */
export interface FunctionOptions<I extends Schema, O extends Schema | undefined, Context> {
  /** Identifies the function for the model, in tests and in the lock: 1 to 64 of `A-Za-z0-9_.-`, unique in its service and among the connected services of an agent. */
  name: string;
  /** Text for the model: what the function does and when to use it. The model selects functions by it. */
  description: string;
  /**
   * Schema of an object, which the arguments of each call must match: zod 4, zod 3, a Standard Schema that can write JSON Schema,
   * or raw JSON Schema 2020-12. At most 64 KiB of JSON Schema. A call with other arguments fails with `invalid_arguments`, and the
   * model can correct it.
   */
  input: I;
  /**
   * Schema of the result. Properties that it does not list, or marks for other roles ({@link visibleTo}), are removed. A result
   * that does not match fails the call with `function_failed`. Default: none, and the whole result is sent.
   */
  output?: O;
  /** The roles that may call the function: a list of 1 to 100 names of 1 to 200 characters, or `"everyone"`. There is no default. For other roles the function does not exist. */
  roles: typeof everyone | readonly string[];
  /**
   * Decides each call, after the roles, the context and the input were checked. Any result except `true`, and an exception, refuses
   * the call with `denied`; the caller can read a string. Its time counts toward `timeoutMs`. Default: the role list decides.
   */
  authorize?: (access: Access<OutputOf<I>, Context>) => Decision | Promise<Decision>;
  /**
   * Lets people approve calls after `authorize` and before the handler. The run waits for the decision without a time limit of its
   * own, and then every check runs again. Default: no call needs an approval.
   */
  approval?: ApprovalOptions<Access<OutputOf<I>, Context>, keyof InputOf<I> & string>;
  /** Typical calls by name (1 to 64 characters), for tests, the access matrix and the console. The control plane receives their names and the decisions on them, and their contents only with `reportCases`; no handler runs for them. Arguments that the input schema refuses throw a `DefinitionError`. */
  cases?: Readonly<Record<string, FunctionCase<InputOf<I>>>>;
  /**
   * Milliseconds that `authorize` and the handler may take: 1 to 240,000, default 60,000. Then the signal is aborted and the call
   * ends with `timed_out`. The time that the run has left also limits it.
   */
  timeoutMs?: number;
  /** True if a call may safely run twice. It may then be delivered again, at most twice (or up to `retries.max` attempts) and with the same call id, after a lost connection. Default false: such a call ends with `outcome_unknown`. */
  idempotent?: boolean;
  /**
   * What a call does to your data: `"read"`, `"write"` or `"destructive"`. Default `"write"`. A run may make 10 equal calls of a
   * function that reads, else 3. If a call that does not only read ends midway, its message says that it may have taken effect.
   */
  effect?: Effect;
  /**
   * Tries a call again after an error of the handler, in whichever runtime is free: at most `max` attempts, with a growing pause.
   * Only for functions with `effect: "read"` or `idempotent: true`. `ctx.attempt` counts the attempts. The caller sees the last one.
   */
  retries?: Retries;
  /** Name for people in the console, 1 to 200 characters. Default: `name`. */
  title?: string;
  /** Labels for people, by which the console groups and finds functions: at most 20 of 1 to 200 characters. */
  tags?: readonly string[];
  /**
   * Valid arguments, at most 5 of at most 4 KiB each. Claude reads them with the schema, other models do not, and the console offers
   * them for test calls. Arguments that the input schema refuses throw a `DefinitionError`.
   */
  examples?: readonly InputOf<I>[];
  /** Whether the function reaches systems outside of your own, such as the web. Clients can show it; it limits nothing. Default false. */
  openWorld?: boolean;
  /**
   * What to use instead, 1 to 200 characters, such as `"use refund_order"`. The function can still be called, but models do not see
   * it, and each call is in the audit log and in the log of the runtime.
   */
  deprecated?: string;
  /**
   * Finds out whether a call took effect whose connection was lost before it answered. The call is then delivered again: after every
   * check, `{ done: true, result }` ends it with that result, `{ done: false }` runs the handler, and `"unknown"`, an exception or any
   * other answer ends it with `outcome_unknown`. Default: such a call ends with `outcome_unknown`, unless it may run twice.
   */
  reconcile?: (call: Interrupted<OutputOf<I>, Context>) => Reconciled<ResultOf<O>> | Promise<Reconciled<ResultOf<O>>>;
  /**
   * Handlers of the function that may run at the same time, over all runtimes of the service: 1 to 10,000. Further calls wait in order;
   * the wait counts toward the time of the run, and not toward `timeoutMs`. Default: no limit but the `concurrency` of each runtime.
   */
  concurrency?: number;
  /** Runs a call that passed every check. Its result, JSON of at most 256 KiB, goes into the run's log, and its first 32 KiB to the model. The caller reads the message of a `FunctionError`; any other error appears only in the runtime's log, as `function_failed`. */
  handler: (input: OutputOf<I>, context: CallContext<Context>) => ResultOf<O> | Promise<ResultOf<O>>;
}

type ResultOf<O> = O extends Schema ? InputOf<O> : unknown;

/** A defined function. Only a service runs its handler, after every check. */
export interface FunctionDefinition<Context = JsonObject> {
  readonly manifest: FunctionManifest;
  readonly parseInput: Parse;
  /** The owner's schema of results. */
  readonly output: Schema | undefined;
  readonly parseOutput: Parse | undefined;
  /** Removes restricted fields from results. Undefined if the output schema has no marks. */
  readonly protection: Protection | undefined;
  readonly cases: ReadonlyMap<string, CheckedCase>;
  /** The owner's code that decides on a call and its result, without the handler, by its place: `authorize`, `approval`, `input`, `output`. */
  readonly code: () => Readonly<Record<string, OwnersCode[]>>;
  /** The schema of the handler's context. Undefined: the handler receives the context as it was sent. */
  readonly contextSchema: Schema | undefined;
  readonly authorize: ((access: Access<never, Context>) => Decision | Promise<Decision>) | undefined;
  /** The owner's `when`. The rest of the approval is in the manifest. */
  readonly needsApproval: ((access: Access<never, Context>) => Decision | Promise<Decision>) | undefined;
  readonly retries: Retries | undefined;
  readonly reconcile: ((call: Interrupted<never, Context>) => unknown) | undefined;
  readonly handler: (input: never, context: CallContext<Context>) => unknown;
}

/** Defines a function. Throws `DefinitionError` for mistakes that would fail later. The handler receives the context as it was sent; {@link functionsFor} gives it the type of a schema. */
export function defineFunction<I extends Schema, O extends Schema | undefined = undefined>(
  options: FunctionOptions<I, O, JsonObject>,
): FunctionDefinition {
  return define(options, undefined);
}

/**
 * Returns a {@link defineFunction} for functions with a context schema: in `ctx.context` and in `authorize`, the context has the
 * schema's output type. The service of these functions must have the same schema as its `context`.
 *
 * ```ts
 * export const orderContext = z.object({ customerId: z.string().optional() });
 * const { defineFunction } = functionsFor(orderContext);
 * ```
 */
export function functionsFor<C extends Schema>(contextSchema: C) {
  return {
    defineFunction<I extends Schema, O extends Schema | undefined = undefined>(
      options: FunctionOptions<I, O, OutputOf<C>>,
    ): FunctionDefinition<OutputOf<C>> {
      return define(options, contextSchema);
    },
  };
}

function define<I extends Schema, O extends Schema | undefined, Context>(
  options: FunctionOptions<I, O, Context>,
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
      timeoutMs: options.timeoutMs ?? LIMITS.functionTimeoutMs,
      ...checkLabels(options, parseInput, where),
      ...(approval !== undefined && { approval: checkApproval(approval, inputSchema, where) }),
      ...present({ restrictedFields: protection?.members, redactions: protection?.places, outputSchema }),
      ...(retries && { retries: { max: retries.max } }),
      ...(reconcile && { reconciles: true }),
      ...present({ concurrency }),
    }),
    parseInput,
    output,
    parseOutput: output === undefined ? undefined : createParser(output, "output", `${where}: output`),
    protection,
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

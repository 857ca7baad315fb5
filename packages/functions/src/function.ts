import { LIMITS, type Effect, type FunctionManifest, type JsonObject } from "@patchbay/protocol";
import { checkCases, type CheckedCase, type FunctionCase } from "./cases.ts";
import { checkFunctionOptions, checkRoles } from "./definition-checks.ts";
import type { CallContext } from "./invocation.ts";
import { createProtection, type Protection } from "./redaction/protection.ts";
import { describeInput, describeResult } from "./schema/describe.ts";
import { createParser, type Parse } from "./schema/parser.ts";
import { isRaw, type InputOf, type OutputOf, type Schema } from "./schema/schema.ts";

/** The `roles` of a function that anybody may call, with or without a role. */
export const everyone = "everyone";

/** `true` lets the call through, `false` refuses it; a text refuses it and is what the model and the caller read. */
export type Decision = boolean | string;

/** What an `authorize` decides on. */
export interface Access<Input, Context> {
  readonly role: string | undefined;
  readonly context: Context;
  readonly input: Input;
}

/** What {@link defineFunction} takes. Members that it does not know are refused. */
export interface FunctionOptions<I extends Schema, O extends Schema | undefined, Context> {
  /** 1 to 64 of `A-Za-z0-9_.-`. */
  name: string;
  /** Read by the model: what the function does and when to use it. */
  description: string;
  /** An object schema: zod 4, zod 3, a Standard Schema that writes JSON Schema, or raw JSON Schema 2020-12. */
  input: I;
  /** Shape of the result. Members it does not list are not sent, nor those that it marks for other roles ({@link visibleTo}). */
  output?: O;
  /** Who may call: a list of roles, or `"everyone"`. Nobody else sees that the function exists. */
  roles: typeof everyone | readonly string[];
  /** Decides call by call, after roles and input were found good. Anything but `true`, a throw included, refuses. */
  authorize?: (access: Access<OutputOf<I>, Context>) => Decision | Promise<Decision>;
  /** Typical calls by name, which tests and the access matrix judge. They stay in this process, and their handlers are not run. */
  cases?: Readonly<Record<string, FunctionCase<InputOf<I>>>>;
  /** 60,000 unless given; at most 240,000. */
  timeoutMs?: number;
  /** True when running a call twice does no harm: it may then be delivered again (under the same call id) after a lost connection. */
  idempotent?: boolean;
  /** `"write"` unless given. */
  effect?: Effect;
  handler: (input: OutputOf<I>, context: CallContext<Context>) => ResultOf<O> | Promise<ResultOf<O>>;
}

type ResultOf<O> = O extends Schema ? InputOf<O> : unknown;

/** A function as a service takes it. Its handler is reached through the service alone, where every check stands before it. */
export interface FunctionDefinition<Context = JsonObject> {
  readonly manifest: FunctionManifest;
  readonly parseInput: Parse;
  /** The schema of results, as the owner wrote it. */
  readonly output: Schema | undefined;
  readonly parseOutput: Parse | undefined;
  /** Takes out of a result what a role may not see; undefined when the output schema marks nothing. */
  readonly protection: Protection | undefined;
  readonly cases: ReadonlyMap<string, CheckedCase>;
  /** The schema whose output the handler is given as context; undefined = the context as it was sent. */
  readonly contextSchema: Schema | undefined;
  readonly authorize: ((access: Access<never, Context>) => Decision | Promise<Decision>) | undefined;
  readonly handler: (input: never, context: CallContext<Context>) => unknown;
}

/** Checks and describes a function. Throws DefinitionError for what would fail later. The handler's context is the query's, as it was sent; {@link functionsFor} gives it the type of a schema. */
export function defineFunction<I extends Schema, O extends Schema | undefined = undefined>(
  options: FunctionOptions<I, O, JsonObject>,
): FunctionDefinition {
  return define(options, undefined);
}

/**
 * Gives functions the context that a schema makes: in `ctx.context` and `authorize` it has the schema's output type.
 * The service that takes them must name the same schema as its `context`.
 *
 * ```ts
 * export const deskContext = z.object({ customerId: z.string().optional() });
 * const { defineFunction } = functionsFor(deskContext);
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
  const { name, description, input, output, cases = {}, authorize, handler } = options;
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
      ...(protection && { protectedMembers: protection.members }),
      ...(protection?.places && { redactions: protection.places }),
      ...(outputSchema && { outputSchema }),
    }),
    parseInput,
    output,
    parseOutput: output === undefined ? undefined : createParser(output, "output", `${where}: output`),
    protection,
    cases: checkCases(cases, parseInput, where),
    contextSchema,
    authorize,
    handler,
  });
}

import { z } from "zod";
import { ApprovalRule } from "./approval.ts";
import { CALLER } from "./codes.ts";
import { FlowRules } from "./flow.ts";
import { RoleOptions } from "./inclusion.ts";
import { LIMITS } from "./limits.ts";
import { flag, jsonObject, optionalFlag, optionalText, optionalTexts, text, texts } from "./members.ts";

/** Matches function names. For providers that do not allow dots, the control plane maps the names; clients see them unchanged. */
export const FUNCTION_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The roles that may call a function: a list, or everyone. */
export const Roles = z.union([z.literal("everyone"), z.array(z.string().min(1).max(LIMITS.labelUnits))]);
export type Roles = z.infer<typeof Roles>;

/**
 * A call's effect on the owner's data, as the owner declares it. If a call other than `read` fails midway, its outcome
 * says that it may have taken effect.
 */
export const Effect = z.enum(["read", "write", "destructive"]);
export type Effect = z.infer<typeof Effect>;

/** A place in results that only some roles see, as a path such as `orders[].cost`. */
export const Redaction = z.object({
  path: text("The place in the result, such as `orders[].cost`."),
  roles: texts("The roles that receive the value."),
});
export type Redaction = z.infer<typeof Redaction>;

/** A function as the control plane knows it. Its handler and its checks stay with the owner. */
export const FunctionManifest = z.object({
  name: z
    .string()
    .regex(FUNCTION_NAME)
    .describe("1 to 64 characters from `A-Za-z0-9_.-`, unique among the agent's services."),
  description: text("What the function does, for the model."),
  inputSchema: jsonObject.describe(
    `JSON Schema 2020-12 for the arguments; its root is an object. At most ${LIMITS.schemaBytes} bytes.`,
  ),
  keepsUnlisted: optionalFlag(
    "True if the handler receives properties that `inputSchema` neither lists nor refuses, as raw JSON Schema allows. Absent if they are dropped, as by zod and by earlier runtimes.",
  ),
  roles: Roles.describe("Who may call the function. For every other role it does not exist."),
  conditional: flag("True if the owner's `authorize` decides each call."),
  effect: Effect.describe(
    "What a call does to the owner's data. Equal calls to `read` functions may repeat more often.",
  ),
  idempotent: flag("True if a call whose outcome is unknown may be delivered again."),
  timeoutMs: z
    .int()
    .positive()
    .max(LIMITS.detachedTimeoutMaxMs)
    .describe("Milliseconds that the handler may take. Then the call ends with `timed_out`."),
  detached: optionalFlag(
    "True if the handler may run longer than its run: the runtime reports that it has begun, and the run waits for its result without a process. Absent from earlier runtimes.",
  ),
  restrictedFields: optionalTexts(
    "Result properties that contain restricted fields, `$` for the whole result. Recordings blank them.",
  ),
  redactions: z
    .array(Redaction)
    .optional()
    .describe("The restricted fields and their roles. Absent from earlier runtimes."),
  outputSchema: jsonObject
    .optional()
    .describe(
      "JSON Schema 2020-12 for results, without descriptions; `x-visible-to` marks restricted fields. Absent without an output schema, and from earlier runtimes.",
    ),
  title: z.string().max(LIMITS.labelUnits).optional().describe("Name for people. Absent: `name`."),
  tags: z
    .array(z.string().min(1).max(LIMITS.labelUnits))
    .max(LIMITS.tagsPerFunction)
    .optional()
    .describe("Labels for people, by which the console groups and finds functions."),
  examples: z
    .array(jsonObject)
    .max(LIMITS.inputExamples)
    .optional()
    .describe("Valid arguments, for the model where its provider supports them, and for the console's form."),
  openWorld: optionalFlag(
    "True if the function reaches systems outside the owner's. For clients that show it; it limits nothing.",
  ),
  deprecated: z
    .string()
    .max(LIMITS.labelUnits)
    .optional()
    .describe("What to use instead. The function can be called, but models do not see it."),
  approval: ApprovalRule.optional().describe("Which people must approve calls. Absent: none."),
  cases: z
    .array(
      z.object({
        name: text("The owner's name for the case."),
        verdicts: z
          .record(z.string(), z.string())
          .describe("By role, `none` without one: `allowed`, `approval` or `denied`."),
      }),
    )
    .optional()
    .describe(
      "The owner's cases and their verdicts when the runtime connected. They contain no arguments: the frame `hello` can have those.",
    ),
  retries: z
    .object({ max: z.int().min(2).max(LIMITS.retriesMax).describe("Handler starts for one call, the first included.") })
    .optional()
    .describe("Allows further attempts after a failure that the runtime marks with `retryAfterMs`."),
  concurrency: z
    .int()
    .min(1)
    .max(LIMITS.functionConcurrency)
    .optional()
    .describe("Concurrent handlers of the function over all the service's runtimes."),
  reconciles: optionalFlag(
    "True if the owner's `reconcile` can find out whether a call whose outcome is unknown took effect.",
  ),
  needsCallerToken: optionalFlag(
    "True if the handler receives the caller's token. Without one, calls end before the handler starts.",
  ),
  flow: FlowRules.optional().describe("Where the function's data may come from and go to. Absent: anywhere."),
});
export type FunctionManifest = z.infer<typeof FunctionManifest> & { origin?: FunctionOrigin };

/** Who decides on a function's calls: its own rule, else the people whom its data-flow rules ask. Undefined: no person. */
export function approvalRuleOf({
  approval,
  flow,
}: Pick<FunctionManifest, "approval" | "flow">): ApprovalRule | undefined {
  const { mode, by = [] } = flow ?? {};
  if (approval || mode === undefined || mode === "deny" || by.length === 0) return approval;
  return { by, conditional: true, fourEyes: !by.includes(CALLER), expiresInMs: LIMITS.approvalMs };
}

/**
 * The service that defines a function in a combined function set. Set by the control plane; dropped from a runtime's
 * frames.
 */
export interface FunctionOrigin {
  service: string;
  /** The hash of the service's own function set. */
  manifestHash: string;
}

/** A query that shows what a service answers, for people. The control plane never sends it to a model provider. */
export const ExampleQuery = z.object({
  query: z.string().min(1).max(LIMITS.exampleQueryUnits).describe("What a caller could send, in natural language."),
  role: z.string().min(1).max(LIMITS.labelUnits).optional().describe("The role under which it is sent, if any."),
  context: jsonObject.optional().describe("The object that it carries in `contextJson`, if any."),
});
export type ExampleQuery = z.infer<typeof ExampleQuery>;

/** A service's function set, which a runtime sends in its `hello`. */
export const Manifest = z.object({
  name: z
    .string()
    .min(1, "a service needs a name")
    // Belongs to a primary key: PostgreSQL refuses index rows over about 2.7 KB.
    .max(LIMITS.labelUnits, `a service name has at most ${LIMITS.labelUnits} characters; shorten it`)
    .describe(
      "Identifies the service among the agent's services. Its newest deployment decides which function set is active.",
    ),
  roles: optionalTexts("The service's roles, in addition to those that its functions name."),
  roleOptions: z
    .record(z.string(), RoleOptions)
    .optional()
    .describe(
      "Which roles include others, and what the owner says about roles. The lists of functions name including roles, too. Absent from earlier runtimes.",
    ),
  defaultRole: optionalText("The role for queries that name none."),
  instructions: optionalText("Text for the model, after the agent's instructions."),
  preparesContext: flag("True if the service uses query contexts: a schema, a subject or a `modelContext`."),
  checksContext: optionalFlag("True if the service has a context schema. Absent from earlier runtimes."),
  contextSchema: jsonObject
    .optional()
    .describe(
      "JSON Schema 2020-12 for the context, without descriptions. Absent without a schema, for one that JSON Schema cannot express, and from earlier runtimes.",
    ),
  namesSubject: optionalFlag("True if the service names each query's subject. Absent from earlier runtimes."),
  beforeQuery: optionalFlag("True if the service checks each query with a hook. Absent from earlier runtimes."),
  beforeAnswer: optionalFlag("True if the service checks each model text. Absent from earlier runtimes."),
  beforeCall: optionalFlag("True if the runtime checks each call with a hook. Absent from earlier runtimes."),
  exampleQueries: z
    .array(ExampleQuery)
    .max(LIMITS.exampleQueriesPerService)
    .optional()
    .describe("Queries that show what the service answers. Absent without any, and from earlier runtimes."),
  functions: z
    .array(FunctionManifest)
    .max(LIMITS.functionsPerService, {
      error: ({ input }) =>
        `${(input as unknown[]).length} functions exceed the limit of ${LIMITS.functionsPerService}. Split the service into two agents.`,
    })
    .describe("What the model may call. At most 200, including other connected services' functions."),
});
export type Manifest = Omit<z.infer<typeof Manifest>, "functions"> & {
  functions: FunctionManifest[];
  hooks?: ServiceHooks[];
};

/** One service's hooks in a combined function set. Set by the control plane; dropped from a runtime's frames. */
export interface ServiceHooks extends FunctionOrigin {
  beforeQuery: boolean;
  beforeAnswer: boolean;
}

/** The roles that a service and its functions name. */
export function rolesOf({ roles = [], roleOptions = {}, defaultRole, functions }: Manifest): Set<string> {
  const included = Object.values(roleOptions).flatMap(({ includes = [] }) => includes);
  const all = new Set([...roles, ...Object.keys(roleOptions), ...included]);
  if (defaultRole !== undefined) all.add(defaultRole);
  for (const declared of functions) if (declared.roles !== "everyone") for (const role of declared.roles) all.add(role);
  return all;
}

/** True if the role list allows `role`. Without a role (undefined), only functions that are open to everyone are allowed. */
export function rolesAllow(roles: Roles, role: string | undefined): boolean {
  return roles === "everyone" || (role !== undefined && roles.includes(role));
}

/** A denied call, and the role list of its function. */
export interface Denial {
  functionName: string;
  role: string | undefined;
  /** The rule that denied the call: `unknown`, `roles`, `context`, `input`, `authorize` or `approval`. */
  rule: string;
  /** Undefined if the function is unknown. */
  roles: Roles | undefined;
  /** The message for the caller, or the reason from the owner's own code. */
  message: string;
}

/**
 * Why a call was denied, in one sentence for the function's owner. It names hidden functions and roles: never send it
 * to a caller.
 */
export function explainDenial({ functionName, role, rule, roles, message }: Denial): string {
  const list = `The role list of ${functionName}${roles === undefined ? "" : ` (${listRoles(roles)})`}`;
  const subject = role === undefined ? "a query without a role" : `role ${role}`;
  if (rule === "unknown") return `The function set has no function ${functionName}.`;
  if (rule === "roles")
    return `${list} does not include ${subject}: the model does not see the function, and calls are denied.`;
  if (rule === "context") return `The context of the query was refused: ${message}`;
  return `${list} allows ${subject}, but ${REFUSED[rule] ?? "authorize refused the call"}: ${message}`;
}

const REFUSED: Record<string, string> = {
  input: "the arguments were refused",
  flow: "the data-flow rules refused the call",
  approval: "the approval of the call was refused",
};

const ROLES_SHOWN = 10;

/** A role list within a sentence. Shortens a long one, because a run may repeat the sentence for each call. */
export function listRoles(roles: Roles): string {
  if (roles === "everyone") return roles;
  if (roles.length === 0) return "empty";
  const rest = roles.length - ROLES_SHOWN;
  const shown = roles.slice(0, ROLES_SHOWN).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

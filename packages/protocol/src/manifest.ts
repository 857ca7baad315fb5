import { z } from "zod";
import { ApprovalRule } from "./approval.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";

const jsonObject = z.custom<JsonObject>(isJsonObject);

/** Matches function names. For providers that do not allow dots, the control plane maps the names; clients see them unchanged. */
export const FUNCTION_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** The roles that may call a function: a list, or everyone. */
export const Roles = z.union([z.literal("everyone"), z.array(z.string().min(1).max(LIMITS.labelUnits))]);
export type Roles = z.infer<typeof Roles>;

/** The effect of a call on the owner's data, as the owner declares it. If a call other than `read` fails midway, its outcome says that it may have taken effect. */
export const Effect = z.enum(["read", "write", "destructive"]);
export type Effect = z.infer<typeof Effect>;

/** A place in results that only some roles see, as a path such as `orders[].cost`. */
export const Redaction = z.object({
  path: z.string().describe("The place in the result, such as `orders[].cost`."),
  roles: z.array(z.string()).describe("The roles that receive the value."),
});
export type Redaction = z.infer<typeof Redaction>;

/** A function as the control plane knows it. Its handler and its checks stay with the owner. */
export const FunctionManifest = z.object({
  name: z.string().regex(FUNCTION_NAME).describe("1 to 64 of `A-Za-z0-9_.-`, unique among the services of the agent."),
  description: z.string().describe("What the function does, for the model."),
  inputSchema: jsonObject.describe(
    `JSON Schema 2020-12 of the arguments; its root is an object. At most ${LIMITS.schemaBytes} bytes.`,
  ),
  keepsUnlisted: z
    .boolean()
    .optional()
    .describe(
      "True if the handler receives properties that `inputSchema` neither lists nor refuses, as raw JSON Schema allows. Absent if they are dropped, as by zod and by runtimes of an earlier version.",
    ),
  roles: Roles.describe("Who may call the function. For every other role it does not exist."),
  conditional: z.boolean().describe("True if the owner's `authorize` decides each call."),
  effect: Effect.describe(
    "What a call does to the owner's data. Equal calls of `read` functions may repeat more often.",
  ),
  idempotent: z.boolean().describe("True if a call whose outcome is unknown may be delivered again."),
  timeoutMs: z
    .int()
    .positive()
    .max(LIMITS.functionTimeoutMaxMs)
    .describe("Milliseconds that the handler may take. Then the call ends with `timed_out`."),
  restrictedFields: z
    .array(z.string())
    .optional()
    .describe("Result properties that contain restricted fields, `$` for the whole result. Recordings blank them."),
  redactions: z
    .array(Redaction)
    .optional()
    .describe("The restricted fields and their roles. Absent from runtimes of an earlier version."),
  outputSchema: jsonObject
    .optional()
    .describe(
      "JSON Schema 2020-12 of results, without descriptions; `x-visible-to` marks restricted fields. Absent without an output schema, and from runtimes of an earlier version.",
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
  openWorld: z
    .boolean()
    .optional()
    .describe("True if the function reaches systems outside the owner's. For clients that show it; it limits nothing."),
  deprecated: z
    .string()
    .max(LIMITS.labelUnits)
    .optional()
    .describe("What to use instead. The function can be called, but models do not see it."),
  approval: ApprovalRule.optional().describe("Which people must approve calls. Absent: none."),
  cases: z
    .array(
      z.object({
        name: z.string().describe("The name of the owner's case."),
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
    .object({ max: z.int().min(2).max(LIMITS.retriesMax).describe("Handler starts of one call, the first included.") })
    .optional()
    .describe("Allows further attempts after a failure that the runtime marks with `retryAfterMs`."),
  concurrency: z
    .int()
    .min(1)
    .max(LIMITS.functionConcurrency)
    .optional()
    .describe("Handlers of the function that run at the same time over all runtimes of the service."),
  reconciles: z
    .boolean()
    .optional()
    .describe("True if the owner's `reconcile` can find out whether a call whose outcome is unknown took effect."),
});
export type FunctionManifest = z.infer<typeof FunctionManifest> & { origin?: FunctionOrigin };

/** The service that a function of a combined function set comes from. Set by the control plane; dropped from a runtime's frames. */
export interface FunctionOrigin {
  service: string;
  /** Hash of the service's own function set. */
  manifestHash: string;
}

/** A query that shows what a service answers, for people. The control plane never sends it to a model provider. */
export const ExampleQuery = z.object({
  query: z.string().min(1).max(LIMITS.exampleQueryUnits).describe("What a caller could send, in natural language."),
  role: z.string().min(1).max(LIMITS.labelUnits).optional().describe("The role under which it is sent, if any."),
  context: jsonObject.optional().describe("The object that it carries in `contextJson`, if any."),
});
export type ExampleQuery = z.infer<typeof ExampleQuery>;

/** The function set of a service, which a runtime sends in its `hello`. */
export const Manifest = z.object({
  name: z
    .string()
    .min(1, "a service needs a name")
    // Part of a primary key: PostgreSQL refuses index rows of more than about 2.7 KB.
    .max(LIMITS.labelUnits, `a service name has at most ${LIMITS.labelUnits} characters; shorten it`)
    .describe(
      "Identifies the service among those of the agent. Its newest deployment decides which function set is active.",
    ),
  roles: z.array(z.string()).optional().describe("Roles of the service, in addition to those of its functions."),
  defaultRole: z.string().optional().describe("The role of queries that name none."),
  instructions: z.string().optional().describe("Text for the model, after the instructions of the agent."),
  preparesContext: z
    .boolean()
    .describe("True if the service uses the context of queries: a schema, a subject or a `modelContext`."),
  checksContext: z
    .boolean()
    .optional()
    .describe("True if the service has a schema of the context. Absent from runtimes of an earlier version."),
  contextSchema: jsonObject
    .optional()
    .describe(
      "JSON Schema 2020-12 of the context, without descriptions. Absent without a schema, for one that JSON Schema cannot express, and from runtimes of an earlier version.",
    ),
  namesSubject: z
    .boolean()
    .optional()
    .describe("True if the service names the subject of a query. Absent from runtimes of an earlier version."),
  beforeQuery: z
    .boolean()
    .optional()
    .describe("True if the service checks each query with a hook. Absent from runtimes of an earlier version."),
  beforeAnswer: z
    .boolean()
    .optional()
    .describe("True if the service checks each text of the model. Absent from runtimes of an earlier version."),
  exampleQueries: z
    .array(ExampleQuery)
    .max(LIMITS.exampleQueriesPerService)
    .optional()
    .describe(
      "Queries that show what the service answers. Absent without any, and from runtimes of an earlier version.",
    ),
  functions: z
    .array(FunctionManifest)
    .max(LIMITS.functionsPerService)
    .describe("What the model may call. Together with those of other connected services at most 200."),
});
export type Manifest = Omit<z.infer<typeof Manifest>, "functions"> & {
  functions: FunctionManifest[];
  hooks?: ServiceHooks[];
};

/** The hooks of one service of a combined function set. Set by the control plane; dropped from a runtime's frames. */
export interface ServiceHooks extends FunctionOrigin {
  beforeQuery: boolean;
  beforeAnswer: boolean;
}

/** The roles of a service and of its functions. */
export function rolesOf({ roles = [], defaultRole, functions }: Manifest): Set<string> {
  const all = new Set(roles);
  if (defaultRole !== undefined) all.add(defaultRole);
  for (const one of functions) if (one.roles !== "everyone") for (const role of one.roles) all.add(role);
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

/** Why a call was denied, in one sentence for the owner of the function. It names hidden functions and roles: never send it to a caller. */
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
  approval: "the approval of the call was refused",
};

const ROLES_SHOWN = 10;

/** A role list as a part of a sentence. Shortens a long one, because a run may repeat the sentence for each call. */
export function listRoles(roles: Roles): string {
  if (roles === "everyone") return roles;
  if (roles.length === 0) return "empty";
  const rest = roles.length - ROLES_SHOWN;
  const shown = roles.slice(0, ROLES_SHOWN).join(", ");
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

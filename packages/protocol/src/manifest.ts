import { z } from "zod";
import { isJsonObject, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";

const jsonObject = z.custom<JsonObject>(isJsonObject);

/** Names an owner may give a function. Names with dots are mapped for providers that take none; clients see them as written. */
export const FUNCTION_NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Who may call a function: a list of roles, or everyone. */
export const Roles = z.union([z.literal("everyone"), z.array(z.string().min(1).max(LIMITS.labelUnits))]);
export type Roles = z.infer<typeof Roles>;

/** What a call does to the owner's data, as the owner declares it: when a call that is no `read` breaks off, the caller is told that it may have taken effect. */
export const Effect = z.enum(["read", "write", "destructive"]);
export type Effect = z.infer<typeof Effect>;

/** A place in results that only some roles see, such as `orders[].cost`. */
export const Redaction = z.object({ path: z.string(), roles: z.array(z.string()) });
export type Redaction = z.infer<typeof Redaction>;

/** What the control plane knows of one function. The handler and its checks stay with the owner. */
export const FunctionManifest = z.object({
  name: z.string().regex(FUNCTION_NAME),
  description: z.string(),
  /** JSON Schema 2020-12 of the arguments; its root is an object. */
  inputSchema: jsonObject,
  /**
   * True when the handler gets members that an object of `inputSchema` neither lists nor refuses, as raw JSON Schema allows.
   * Absent where they are dropped, as zod does, and from runtimes of an earlier version, which drop them.
   */
  keepsUnlisted: z.boolean().optional(),
  roles: Roles,
  /** True when the owner's `authorize` decides call by call. */
  conditional: z.boolean(),
  effect: Effect,
  idempotent: z.boolean(),
  timeoutMs: z.int().positive().max(LIMITS.functionTimeoutMaxMs),
  /** Names of result members that hold something for some roles alone, `$` for the whole result: recordings blank them. */
  protectedMembers: z.array(z.string()).optional(),
  /** The places behind `protectedMembers`. Runtimes of an earlier version send none. */
  redactions: z.array(Redaction).optional(),
  /** JSON Schema 2020-12 of results, without descriptions. Absent without an output schema, and from runtimes of an earlier version. */
  outputSchema: jsonObject.optional(),
});
export type FunctionManifest = z.infer<typeof FunctionManifest> & { origin?: FunctionOrigin };

/** Where a function of several combined services comes from. The control plane sets it; what a runtime sends is dropped. */
export interface FunctionOrigin {
  service: string;
  /** Hash of that service's own function set. */
  manifestHash: string;
}

/** What a runtime offers, as it tells the control plane on connecting. */
export const Manifest = z.object({
  name: z
    .string()
    .min(1, "a service needs a name")
    // Part of a primary key: PostgreSQL refuses index rows of more than about 2.7 KB.
    .max(LIMITS.labelUnits, `a service name has at most ${LIMITS.labelUnits} characters; shorten it`),
  /** Roles that the service names beside those of its functions. */
  roles: z.array(z.string()).optional(),
  defaultRole: z.string().optional(),
  instructions: z.string().optional(),
  /** True when the service checks or reads the context (a schema, a subject, or what the model is told). */
  preparesContext: z.boolean(),
  /** True when the service has a schema of the context. Runtimes of an earlier version do not send it. */
  checksContext: z.boolean().optional(),
  /** True when the service says whose data a query is about. Runtimes of an earlier version do not send it. */
  namesSubject: z.boolean().optional(),
  /** True when the service has a `beforeQuery` hook. Runtimes of an earlier version do not send it. */
  beforeQuery: z.boolean().optional(),
  /** True when the service has a `beforeAnswer` hook. Runtimes of an earlier version do not send it. */
  beforeAnswer: z.boolean().optional(),
  functions: z.array(FunctionManifest).max(LIMITS.functionsPerService),
});
export type Manifest = Omit<z.infer<typeof Manifest>, "functions"> & {
  functions: FunctionManifest[];
  hooks?: ServiceHooks[];
};

/** The hooks of one service of a combined set. The control plane sets them; what a runtime sends is dropped. */
export interface ServiceHooks extends FunctionOrigin {
  beforeQuery: boolean;
  beforeAnswer: boolean;
}

/** True when the role list lets `role` call. No role (undefined) may call only what is open to everyone. */
export function rolesAllow(roles: Roles, role: string | undefined): boolean {
  return roles === "everyone" || (role !== undefined && roles.includes(role));
}

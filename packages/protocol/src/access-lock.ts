import { z } from "zod";
import { ApprovalRule } from "./approval.ts";
import { FlowRules } from "./flow.ts";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { LIMITS } from "./limits.ts";
import { Effect } from "./manifest.ts";

/** An object instead of a list, so that each entry is one diff line with any formatter. */
const Members = z.record(z.string(), z.literal("removed"));

const Verdict = z.enum(["allowed", "approval", "denied"]);
/** The decision on a declared case. */
export type CaseDecision = z.infer<typeof Verdict>;

const LockedCell = z.union([
  z.enum(["allowed", "hidden"]),
  z.strictObject({ access: z.literal("allowed"), members: Members }),
  z.strictObject({
    access: z.literal("conditional"),
    cases: z.record(z.string(), Verdict),
    members: Members.optional(),
  }),
]);
/** A role's locked access to one function. */
export type LockedCell = z.infer<typeof LockedCell>;

const Facts = z.record(z.string(), z.string());
const Hooks = z.partialRecord(z.enum(["beforeQuery", "beforeAnswer", "beforeCall"]), z.literal("runs"));
const Schema = z.custom<JsonObject>(isJsonObject, "expected a JSON Schema object");
const SchemaOrAny = z.union([z.literal(true), Schema]);

const LockedFunction = z.strictObject({
  effect: Effect.optional(),
  idempotent: z.boolean().optional(),
  approval: z.union([z.literal(false), ApprovalRule]).optional(),
  /** True if an `authorize` decides each call. A conditional approval makes a cell conditional, too. */
  authorize: z.boolean().optional(),
  roles: z.record(z.string(), LockedCell),
  /** Fingerprints of the owner's code by place: `authorize`, `approval`, `input`, `output`. */
  code: z.record(z.string(), z.string()).optional(),
  input: Schema.optional(),
  output: SchemaOrAny.optional(),
  parsing: Facts.optional(),
  texts: Facts.optional(),
  flow: FlowRules.optional(),
  needsCallerToken: z.boolean().optional(),
});
/**
 * The locked access to one function. `parsing`: what the input schema does before it judges, by place and kind.
 * `texts`: hashes of what informs the model, which decides nothing. An absent member is unknown. `input` is the schema for the arguments that reach
 * the handler; `output` is the result schema, in which `x-visible-to` marks restricted fields, or `true` if everything
 * is sent. For an output that JSON Schema cannot express, `output` is `{}`, and `code` has a fingerprint over all the
 * owner's files.
 */
export type LockedFunction = z.infer<typeof LockedFunction>;

/** What is known about the owner's `subject`. */
const LockedSubject = z.strictObject({
  code: z.string().optional(),
  /** A label by case name. Cases with one label have the same subject. */
  cases: z.record(z.string(), z.string()),
});

const Version1 = z.strictObject({
  version: z.literal(1),
  defaultRole: z.string().optional(),
  hooks: Hooks.optional(),
  functions: z.record(z.string(), z.record(z.string(), LockedCell)),
});

const Version2 = z.strictObject({
  version: z.literal(2),
  defaultRole: z.string().optional(),
  hooks: Hooks.optional(),
  context: SchemaOrAny.optional(),
  contextCode: z.string().optional(),
  subject: z.union([z.literal(false), LockedSubject]).optional(),
  functions: z.record(z.string(), LockedFunction),
});

const Version3 = z.strictObject({
  ...Version2.shape,
  version: z.literal(3),
  /** By role, the roles that it includes. Absent if no role includes another. */
  includes: z.record(z.string(), z.array(z.string())).optional(),
  /** Fingerprints of the owner's code by place: `beforeQuery`, `beforeAnswer`, `beforeCall`, `modelContext`. */
  code: Facts.optional(),
  parsing: Facts.optional(),
  texts: Facts.optional(),
});

/**
 * A lock file's contents: who may call what with which arguments, what results contain, and fingerprints of the code
 * that decides. It contains no data. A version 1 lock knows the role lists, cases and marks; version 2 knows no defaults,
 * conversions, hooks and texts.
 */
export type AccessLock = Omit<z.infer<typeof Version3>, "version"> & { version: 1 | 2 | 3 };

/** Reads a lock in any version. */
export const AccessLock = z
  .discriminatedUnion("version", [Version1, Version2, Version3])
  .transform((lock): AccessLock => {
    if (lock.version !== 1) return lock;
    const functions = Object.entries(lock.functions).map(([name, roles]) => [name, { roles }] as const);
    return { ...lock, functions: Object.fromEntries(functions) };
  });

/** Reads a lock file's contents. A fault ends a sentence: "This file is not an access lock: its version is 4." */
export function readLock(value: unknown): { lock: AccessLock } | { fault: string } {
  // The command writes no lock with more functions: no service has them. Reading and comparing it could take long.
  const count = isJsonObject(value) && isJsonObject(value["functions"]) ? Object.keys(value["functions"]).length : 0;
  if (count > LIMITS.functionsPerService)
    return { fault: `it has ${count} functions, and a service has at most ${LIMITS.functionsPerService}` };
  const { success, data: lock, error } = AccessLock.safeParse(value);
  if (success) return { lock };
  if (!isJsonObject(value)) return { fault: "it is not a JSON object" };
  const { version } = value;
  if (version === undefined) return { fault: "it has no version" };
  if (typeof version !== "number") return { fault: "its version is not a number" };
  if (![1, 2, 3].includes(version)) return { fault: `its version is ${version}, not 1, 2 or 3` };
  const issue = error.issues[0]!;
  if (issue.code === "unrecognized_keys")
    return { fault: `version ${version} has no member ${[...issue.path, issue.keys[0]!].join(".")}` };
  return { fault: `${issue.path.join(".")} has a value that version ${version} does not allow` };
}

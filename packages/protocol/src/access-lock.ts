import { z } from "zod";

/** An object instead of a list, so that each entry is one line of a diff with any formatter. */
const Members = z.record(z.string(), z.literal("removed"));

const LockedCell = z.union([
  z.enum(["allowed", "hidden"]),
  z.strictObject({ access: z.literal("allowed"), members: Members }),
  z.strictObject({
    access: z.literal("conditional"),
    cases: z.record(z.string(), z.enum(["allowed", "denied"])),
    members: Members.optional(),
  }),
]);
/** The locked access of one role to one function. */
export type LockedCell = z.infer<typeof LockedCell>;

/** The contents of a lock file: the decisions of an access matrix by function and role, without texts and data. */
export const AccessLock = z.strictObject({
  version: z.literal(1),
  defaultRole: z.string().optional(),
  hooks: z.partialRecord(z.enum(["beforeQuery", "beforeAnswer"]), z.literal("runs")).optional(),
  functions: z.record(z.string(), z.record(z.string(), LockedCell)),
});
export type AccessLock = z.infer<typeof AccessLock>;

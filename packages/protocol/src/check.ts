import { z } from "zod";
import { LIMITS } from "./limits.ts";
import { FunctionManifest } from "./manifest.ts";
import { flag, jsonObject, optionalText, text } from "./members.ts";
import { ContextJson, optional, queryRole } from "./query.ts";

const role = queryRole.describe("The role of a query. Default: as for one without a role.");

/** A function as a role sees it. */
export const RoleFunction = FunctionManifest.pick({
  name: true,
  title: true,
  description: true,
  inputSchema: true,
  effect: true,
  approval: true,
  deprecated: true,
});

/** A role's functions. Hidden ones are absent. */
export const FunctionList = z.object({
  role: optionalText("The requested role, or the service's default role."),
  items: z.array(RoleFunction).describe("The functions that a query with this role could call."),
});

export type FunctionList = z.infer<typeof FunctionList>;

/** Asks for a decision on a call that is not made. */
export const CheckRequest = z.object({
  role,
  contextJson: optional(ContextJson).describe("The context of the query: a JSON object as text."),
  toolName: text("The function's name."),
  parameters: jsonObject
    .refine((value) => JSON.stringify(value).length <= LIMITS.contextBytes, "has too many characters")
    .describe(`The call's arguments: at most ${LIMITS.contextBytes} JSON characters.`),
});
export type CheckRequest = z.infer<typeof CheckRequest>;

/** What the owner's checks decide on a call. */
export const CheckResponse = z.object({
  allowed: flag("True if the handler would run without an approval."),
  verdict: z.enum(["allowed", "denied", "approval"]).describe("`approval`: a person would have to approve the call."),
  rule: optionalText(
    "Why the call is denied: `unknown` for a function that the role does not have, `context`, `input`, `authorize` or `approval`.",
  ),
});
export type CheckResponse = z.infer<typeof CheckResponse>;

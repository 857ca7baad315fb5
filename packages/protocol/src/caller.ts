import { z } from "zod";
import { jsonObject, optionalText, text } from "./members.ts";

/** What a token proved about the caller of a query, for the owner's code. */
export const CallerIdentity = z.object({
  subject: text("The token's `sub`, unique within its issuer."),
  issuer: text("The token's `iss`."),
  claims: jsonObject.describe("The token's claims that the agent lists. Those that the token lacks are absent."),
});
export type CallerIdentity = z.infer<typeof CallerIdentity>;

/** A call's caller, for the handler. */
export const CallerWithToken = CallerIdentity.extend({
  token: optionalText(
    "The caller's token, for functions with `needsCallerToken`. Absent if it has expired, and after another replica has taken over the run.",
  ),
});
export type CallerWithToken = z.infer<typeof CallerWithToken>;

// For whom a query is made: members of several frames.
export const role = optionalText("The query's role, or the service's default role.");
export const context = jsonObject.describe("The object of the query's `contextJson`; `{}` if it had none.");
export const caller = CallerIdentity.optional().describe(
  "What a token proved about the caller. Absent without one, and from earlier control planes.",
);

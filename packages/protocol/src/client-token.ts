import { z } from "zod";
import { isJsonObject, type JsonObject } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { textUpTo } from "./query.ts";

const label = textUpTo(LIMITS.labelUnits).min(1, "must not be empty");

/** Body of a request for a client token. */
export const ClientTokenRequest = z.object({
  role: label.describe("The role of every query with the token. One that the key may state."),
  // Null and an empty text do not count as absent here: the token would open more than its maker meant.
  context: z
    .custom<JsonObject>(isJsonObject, "must be a JSON object")
    .refine(
      (context) => new TextEncoder().encode(JSON.stringify(context)).length <= LIMITS.contextBytes,
      `must have at most ${LIMITS.contextBytes} bytes`,
    )
    .optional()
    .describe("The context of every query with the token. Default: an empty one."),
  threadKey: label
    .optional()
    .describe(
      "The only chat that the token opens, whatever chat a page names. Default: a page names its chats, which are those of the key, the role and the context.",
    ),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(3_600)
    .describe("Life of the token, at most an hour. It ends earlier with its key."),
});
export type ClientTokenRequest = z.infer<typeof ClientTokenRequest>;

/** A client token, which is shown only once. */
export const ClientToken = z.object({
  token: z.string().describe("The page sends it as `Authorization: Bearer`."),
  expiresAt: z.iso.datetime().describe("When it ends at the latest, by the clock of the service."),
});
export type ClientToken = z.infer<typeof ClientToken>;

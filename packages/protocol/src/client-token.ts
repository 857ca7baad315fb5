import { z } from "zod";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { LIMITS } from "./limits.ts";
import { textUpTo } from "./query.ts";
import { optionalFlag, text } from "./members.ts";

const label = textUpTo(LIMITS.labelUnits).min(1, "must not be empty");

/** What a client token can open: the chat routes (`ui-stream`), and the MCP routes. */
export const ClientDoor = z.enum(["ui-stream", "mcp"]);
export type ClientDoor = z.infer<typeof ClientDoor>;

/** What a client token opens if its request names nothing. */
export const CLIENT_DOORS_BY_DEFAULT: readonly ClientDoor[] = ["ui-stream"];

/** Request body for a client token. */
export const ClientTokenRequest = z.object({
  role: label.describe("The role for every query with the token; the key must be allowed to state it."),
  // Null and an empty text do not count as absent here: the token would open more than intended.
  context: z
    .custom<JsonObject>(isJsonObject, "must be a JSON object")
    .refine(
      (context) => new TextEncoder().encode(JSON.stringify(context)).length <= LIMITS.contextBytes,
      `must have at most ${LIMITS.contextBytes} bytes`,
    )
    .optional()
    .describe("The context for every query with the token. Default: an empty one."),
  threadKey: label
    .optional()
    .describe(
      "The only chat that the token opens, whatever chat a page names. Default: a page names its chats, within the key, the role and the context.",
    ),
  allow: z
    .array(ClientDoor)
    .min(1, "must name at least one")
    .refine((allow) => new Set(allow).size === allow.length, "must name each once")
    .optional()
    .describe(
      "What the token opens. `ui-stream`: the chat. `mcp`: function calls with arguments that the page chooses, which pass no `beforeQuery` hook. Default: `ui-stream`. With `threadKey`, MCP offers no tools.",
    ),
  reasoning: optionalFlag("Whether `?reasoning=1` shows the page the model's reasoning. Default: false."),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(3_600)
    .describe("The token's life, at most an hour. It ends earlier with its key."),
});
export type ClientTokenRequest = z.infer<typeof ClientTokenRequest>;

/** A client token, which is shown only once. */
export const ClientToken = z.object({
  token: text("The page sends it as `Authorization: Bearer`."),
  expiresAt: z.iso.datetime().describe("When it ends at the latest, by the service's clock."),
});
export type ClientToken = z.infer<typeof ClientToken>;

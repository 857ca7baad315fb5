import { z } from "zod";
import { Rotation } from "./agents.ts";
import { type ConsoleRoute, label, pageOf, paging, time } from "./route.ts";
import { SERVICE_SCOPES } from "./scopes.ts";

const scopes = z.array(z.enum(SERVICE_SCOPES)).min(1).max(SERVICE_SCOPES.length);

/** A token with which a program manages the organisation, without its secret. */
export const ServiceToken = z.object({
  tokenId: z.string(),
  /** The secret's first and last characters, by which people recognise it. */
  hint: z.string(),
  label: z.string().nullable(),
  scopes,
  /** The member or service token that created it; null for a command. */
  createdBy: z.string().nullable(),
  createdAt: time,
  lastUsedAt: time.nullable(),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  state: z.enum(["active", "expired", "revoked"]),
});
export type ServiceToken = z.infer<typeof ServiceToken>;

/** A new service token. Its secret is never shown again. */
export const CreatedServiceToken = z.object({ token: ServiceToken, secret: z.string() });
export type CreatedServiceToken = z.infer<typeof CreatedServiceToken>;

/** Changes to service tokens. */
const managed = { needs: "owner", scopes: [["service-tokens:write"]] } as const;

/** Service token routes. A service token can create and replace only tokens whose scopes it has itself. */
export const SERVICE_TOKEN_ROUTES = {
  "GET /service-tokens": {
    needs: "owner",
    scopes: [["service-tokens:read"]],
    summary: "The organisation's service tokens, newest first",
    query: z.object(paging),
    answer: pageOf(ServiceToken),
  },
  "POST /service-tokens": {
    ...managed,
    confirmed: true,
    status: 201,
    summary: "Create a service token",
    body: z.object({
      scopes,
      label: label.optional(),
      /** Default: it does not expire. */
      expiresInDays: z.number().int().min(1).max(3_650).optional(),
    }),
    answer: CreatedServiceToken,
  },
  "POST /service-tokens/:token_id/rotate": {
    ...managed,
    confirmed: true,
    status: 201,
    summary: "Replace a service token; the old one stays valid for a while",
    body: Rotation,
    answer: CreatedServiceToken,
  },
  "DELETE /service-tokens/:token_id": {
    ...managed,
    summary: "Revoke a service token, and the unused links that it made",
    answer: "nothing",
  },
} as const satisfies Record<string, ConsoleRoute>;

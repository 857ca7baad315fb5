import { present } from "@patchbay/protocol";
import type { SERVICE_TOKEN_ROUTES, ServiceToken } from "@patchbay/protocol/console";
import type { ServiceTokenRecord } from "../../ports/service-tokens.ts";
import { type Actor, requireScopes } from "../actors.ts";
import { type ConsoleDeps, type HandlersOf, paged } from "../handler.ts";

/** Tokens with which programs manage the organisation. A token gives out no scope that it lacks. */
export function serviceTokenRoutes({
  adminOf,
}: Pick<ConsoleDeps, "adminOf">): HandlersOf<keyof typeof SERVICE_TOKEN_ROUTES> {
  return {
    async "GET /service-tokens"({ by, query }) {
      const { items, nextCursor } = await adminOf(by.actorId).serviceTokens.list(by.orgId, paged(query));
      return { items: items.map(shown), nextCursor };
    },

    async "POST /service-tokens"({ by, body }) {
      requireScopes(by, body.scopes);
      const { orgId } = by;
      const { scopes, label, expiresInDays } = body;
      const wanted = { orgId, scopes, ...present({ label, expiresInDays, endsBy: lastEnd(by) }) };
      const { token, secret } = await adminOf(by.actorId).serviceTokens.create(wanted);
      return { token: shown(token), secret };
    },

    async "POST /service-tokens/:token_id/rotate"({ by, params, body }) {
      const { serviceTokens } = adminOf(by.actorId);
      requireScopes(by, (await serviceTokens.get(by.orgId, params.token_id)).scopes);
      const options = { overlapMs: body.overlapSeconds * 1_000, ...present({ endsBy: lastEnd(by) }) };
      const { token, secret } = await serviceTokens.rotate(by.orgId, params.token_id, options);
      return { token: shown(token), secret };
    },

    async "DELETE /service-tokens/:token_id"({ by, params }) {
      await adminOf(by.actorId).serviceTokens.revoke(by.orgId, params.token_id);
    },
  };
}

/** A token that expires makes no token that outlives it, not even from itself. */
const lastEnd = (by: Actor): number | undefined => ("scopes" in by ? by.expiresAt : undefined);

function shown(token: ServiceTokenRecord): ServiceToken {
  const { tokenId, hint, label, scopes, createdBy, createdAt, lastUsedAt, expiresAt, revokedAt, state } = token;
  return {
    tokenId,
    hint,
    label: label ?? null,
    scopes,
    createdBy: createdBy ?? null,
    createdAt: new Date(createdAt).toISOString(),
    lastUsedAt: timeOrNull(lastUsedAt),
    expiresAt: timeOrNull(expiresAt),
    revokedAt: timeOrNull(revokedAt),
    state,
  };
}

const timeOrNull = (timeMs: number | undefined): string | null =>
  timeMs === undefined ? null : new Date(timeMs).toISOString();

import { isoTime, isoTimeOrNull, present } from "@patchbay/kit";
import type { ServiceToken } from "@patchbay/protocol/console";
import type { ServiceTokenRecord } from "@patchbay/engine/ports/store/service-tokens";
import { requireScopes } from "../actors.ts";
import { type ConsoleDeps, type Handlers, paged } from "../handler.ts";

/** Service tokens. A token issues no scope that it lacks. */
export function serviceTokenRoutes({ adminOf }: Pick<ConsoleDeps, "adminOf">) {
  return {
    async "GET /service-tokens"({ by, query }) {
      const { items, nextCursor } = await adminOf(by.actorId).serviceTokens.list(by.orgId, paged(query));
      return { items: items.map(shown), nextCursor };
    },

    async "POST /service-tokens"({ by, body }) {
      requireScopes(by, body.scopes);
      const { orgId } = by;
      const { scopes, label, expiresInDays } = body;
      const wanted = { orgId, scopes, ...present({ label, expiresInDays }) };
      const { token, secret } = await adminOf(by.actorId).serviceTokens.create(wanted);
      return { token: shown(token), secret };
    },

    async "POST /service-tokens/:token_id/rotate"({ by, params, body }) {
      const { serviceTokens } = adminOf(by.actorId);
      requireScopes(by, (await serviceTokens.get(by.orgId, params.token_id)).scopes);
      const options = { overlapMs: body.overlapSeconds * 1_000 };
      const { token, secret } = await serviceTokens.rotate(by.orgId, params.token_id, options);
      return { token: shown(token), secret };
    },

    async "DELETE /service-tokens/:token_id"({ by, params }) {
      await adminOf(by.actorId).serviceTokens.revoke(by.orgId, params.token_id);
    },
  } satisfies Handlers;
}

function shown(token: ServiceTokenRecord): ServiceToken {
  const { tokenId, hint, label, scopes, createdBy, createdAt, lastUsedAt, expiresAt, revokedAt, state } = token;
  return {
    tokenId,
    hint,
    label: label ?? null,
    scopes,
    createdBy: createdBy ?? null,
    createdAt: isoTime(createdAt),
    lastUsedAt: isoTimeOrNull(lastUsedAt),
    expiresAt: isoTimeOrNull(expiresAt),
    revokedAt: isoTimeOrNull(revokedAt),
    state,
  };
}

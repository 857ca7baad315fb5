import { present } from "@patchbay/kit";
import { SERVICE_SCOPES, type ServiceScope } from "@patchbay/protocol/console";
import type { Page, PageAsked } from "@patchbay/engine/ports/store/page";
import type { ServiceTokenRecord } from "@patchbay/engine/ports/store/service-tokens";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { AdminError, found, orgOf } from "./admin-error.ts";
import { makeSecret } from "./secret.ts";

const DAY_MS = 86_400_000;

export interface NewToken {
  orgId: string;
  scopes: readonly ServiceScope[];
  label?: string;
  /** Without it, the token does not expire. It ends at the latest with the service token that creates it. */
  expiresInDays?: number;
}

/** A new service token with its secret, which cannot be shown again. */
export interface MadeToken {
  token: ServiceTokenRecord;
  secret: string;
}

/** Manages service tokens, with which programs manage an organisation. Methods throw `AdminError`. */
export interface ServiceTokens {
  create(wanted: NewToken): Promise<MadeToken>;
  /** Newest first. */
  list(orgId: string, page: PageAsked): Promise<Page<ServiceTokenRecord>>;
  get(orgId: string, tokenId: string): Promise<ServiceTokenRecord>;
  /**
   * Creates a token with the same scopes, label and lifetime. The old one stays valid for `overlapMs`, but no longer
   * than it was; 0 revokes it. Both end at the latest with the token that rotates.
   */
  rotate(orgId: string, tokenId: string, options: { overlapMs: number }): Promise<MadeToken & { oldEndsAt: number }>;
  /** Also ends the unused links that the token created for members. */
  revoke(orgId: string, tokenId: string): Promise<void>;
}

/** `by` is the id of the acting member or service token. Each change is written to the audit log. */
export function createServiceTokens(store: Store, by?: string): ServiceTokens {
  const { accounts, audit, serviceTokens } = store;
  const author = present({ keyId: by });

  const get = async (orgId: string, tokenId: string) =>
    found(await serviceTokens.get(orgId, tokenId), "service token", tokenId, "service-tokens list");

  function fresh() {
    const { secret, id: tokenId, hash, hint } = makeSecret("service", "svt");
    return { secret, stored: { tokenId, hash, hint, ...present({ createdBy: by }) } };
  }

  return {
    async create({ orgId, scopes, label, expiresInDays }) {
      await orgOf(accounts, orgId);
      const chosen = SERVICE_SCOPES.filter((scope) => scopes.includes(scope));
      if (chosen.length === 0) throw new AdminError("A service token needs at least one scope.");
      const { secret, stored } = fresh();
      const expiresAt = expiresInDays === undefined ? undefined : (await store.now()) + expiresInDays * DAY_MS;
      await serviceTokens.create({ ...stored, orgId, scopes: chosen, ...present({ label, expiresAt }) });
      const { tokenId } = stored;
      const detail = { tokenId, scopes: chosen };
      await audit.record([{ orgId, action: "service_token.created", detail, ...author }]);
      return { token: await get(orgId, tokenId), secret };
    },

    list: (orgId, page) => serviceTokens.list(orgId, page),
    get,

    async rotate(orgId, tokenId, { overlapMs }) {
      await get(orgId, tokenId);
      const { secret, stored } = fresh();
      const rotated = await serviceTokens.rotate({ orgId, tokenId }, stored, overlapMs);
      if (!rotated)
        throw new AdminError(
          `The service token ${tokenId} is revoked or expired and cannot be rotated. Create a new one.`,
          "conflict",
        );
      const detail = { tokenId, replacedBy: stored.tokenId, overlapSeconds: Math.round(overlapMs / 1_000) };
      await audit.record([{ orgId, action: "service_token.rotated", detail, ...author }]);
      return { token: await get(orgId, stored.tokenId), secret, ...rotated };
    },

    async revoke(orgId, tokenId) {
      const { state } = await get(orgId, tokenId);
      if (state === "revoked") return;
      await serviceTokens.revoke(orgId, tokenId);
      await audit.record([{ orgId, action: "service_token.revoked", detail: { tokenId }, ...author }]);
    },
  };
}

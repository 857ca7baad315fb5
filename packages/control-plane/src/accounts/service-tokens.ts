import { present } from "@patchbay/protocol";
import { SERVICE_SCOPES, type ServiceScope } from "@patchbay/protocol/console";
import type { Clock } from "../ports/clock.ts";
import { type Log, silentLog } from "../ports/log.ts";
import type { ServiceTokenRecord, ServiceTokenStore } from "../ports/service-tokens.ts";
import type { Store } from "../ports/stores.ts";
import { AdminError, found } from "./admin-error.ts";
import { generateSecret, hashSecret, hintOf, isWellFormed, randomBase62 } from "./secret.ts";

const DAY_MS = 86_400_000;
const TOUCH_MS = 60_000;

export interface NewToken {
  orgId: string;
  scopes: readonly ServiceScope[];
  label?: string;
  /** Without it, the token does not expire. */
  expiresInDays?: number;
  /** The token ends then at the latest. */
  endsBy?: number;
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
  list(
    orgId: string,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ items: ServiceTokenRecord[]; nextCursor: string | null }>;
  get(orgId: string, tokenId: string): Promise<ServiceTokenRecord>;
  /**
   * Creates a token with the same scopes, label and lifetime, which ends at `endsBy` at the latest. The old one stays valid for
   * `overlapMs`, never longer than before; 0 revokes it.
   */
  rotate(
    orgId: string,
    tokenId: string,
    options: { overlapMs: number; endsBy?: number },
  ): Promise<MadeToken & { oldEndsAt: number }>;
  /** Also ends the unused links that the token made for members. */
  revoke(orgId: string, tokenId: string): Promise<void>;
}

/** `by` is the id of the acting member or service token. Each change is written to the audit log. */
export function createServiceTokens(store: Store, by?: string): ServiceTokens {
  const { accounts, audit, serviceTokens } = store;
  const author = present({ keyId: by });

  const get = async (orgId: string, tokenId: string) =>
    found(await serviceTokens.get(orgId, tokenId), "service token", tokenId, "service-tokens list");

  function fresh() {
    const secret = generateSecret("service");
    const stored = { tokenId: `svt_${randomBase62(22)}`, hash: hashSecret(secret), hint: hintOf("service", secret) };
    return { secret, stored: { ...stored, ...present({ createdBy: by }) } };
  }

  return {
    async create({ orgId, scopes, label, expiresInDays, endsBy = Infinity }) {
      found(await accounts.getOrg(orgId), "organisation", orgId, "orgs list");
      const chosen = SERVICE_SCOPES.filter((scope) => scopes.includes(scope));
      if (chosen.length === 0) throw new AdminError("A service token needs at least one scope.");
      const { secret, stored } = fresh();
      const asked = expiresInDays === undefined ? Infinity : (await store.now()) + expiresInDays * DAY_MS;
      const ends = Math.min(asked, endsBy);
      const expiresAt = ends === Infinity ? undefined : ends;
      await serviceTokens.create({ ...stored, orgId, scopes: chosen, ...present({ label, expiresAt }) });
      const { tokenId } = stored;
      const detail = { tokenId, scopes: chosen };
      await audit.record([{ orgId, action: "service_token.created", detail, ...author }]);
      return { token: await get(orgId, tokenId), secret };
    },

    list: (orgId, page) => serviceTokens.list(orgId, page),
    get,

    async rotate(orgId, tokenId, { overlapMs, endsBy }) {
      await get(orgId, tokenId);
      const { secret, stored } = fresh();
      const limited = { ...stored, ...present({ expiresAt: endsBy }) };
      const rotated = await serviceTokens.rotate({ orgId, tokenId }, limited, overlapMs);
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

/** Resolves with the service token of a secret; undefined for a malformed, unknown, revoked or expired one. Nothing is cached. */
export function createTokenCheck(deps: { serviceTokens: ServiceTokenStore; clock: Clock; log?: Log }) {
  const { serviceTokens, clock, log = silentLog } = deps;
  return async (secret: string) => {
    if (!isWellFormed("service", secret)) return undefined;
    const token = await serviceTokens.find(hashSecret(secret));
    if (token && (token.lastUsedAt === undefined || Math.abs(clock.now() - token.lastUsedAt) >= TOUCH_MS))
      serviceTokens.touch(token.tokenId).catch((cause: unknown) => {
        log.warn("last use of a service token could not be stored", { tokenId: token.tokenId, cause });
      });
    return token;
  };
}

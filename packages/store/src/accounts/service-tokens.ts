import { sql } from "kysely";
import type { ServiceTokenRecord, ServiceTokenStore } from "@patchbay/engine/ports/store/service-tokens";
import { inBatches } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { earliest, endOfMaker } from "./holders.ts";
import { lockMembers } from "./members.ts";
import { newestPage } from "../page-cursor.ts";
import { serviceTokenColumns, type ServiceTokenRow } from "../tables/credentials.ts";
import { is } from "../statement.ts";

const TOUCH_MS = 60_000;

/** Service tokens. Secrets are stored only as hashes. */
export function serviceTokenStore(engine: Engine): ServiceTokenStore {
  const { db, dialect } = engine;
  return {
    ...tokenReads(engine),

    async create(token) {
      const expires_at = earliest(token.expiresAt, await endOfMaker(engine, token.createdBy));
      await db
        .insertInto("service_tokens")
        .values({ ...serviceTokenColumns.someOf(token), created_at: dialect.now, expires_at })
        .execute();
    },

    rotate: ({ orgId, tokenId }, fresh, overlapMs) =>
      transact(engine, async (trx) => {
        // Links are created under this lock, and so for a token that is active until this transaction ends.
        await lockMembers(trx, orgId);
        const old = await lockToken(trx, orgId, tokenId);
        if (old?.state !== "active") return undefined;
        const { now, state: _state, ...row } = old;
        const last = await endOfMaker(trx, fresh.createdBy);
        const expires_at = earliest(old.expires_at && now + old.expires_at - old.created_at, last);
        const oldEndsAt = earliest(now + overlapMs, old.expires_at, last)!;
        await trx.db
          .updateTable("service_tokens")
          .set(overlapMs === 0 ? { revoked_at: now } : { expires_at: oldEndsAt })
          .where("id", "=", tokenId)
          .execute();
        const ofNew = { createdAt: now, lastUsedAt: undefined, lineage: old.lineage ?? old.id };
        const secret = serviceTokenColumns.someOf({ createdBy: undefined, ...fresh, ...ofNew });
        await trx.db
          .insertInto("service_tokens")
          .values({ ...row, ...secret, expires_at })
          .execute();
        if (overlapMs === 0) await endLinksOf(trx, tokenId);
        else await unusedLinksOf(trx, tokenId).set({ created_by_token: fresh.tokenId }).execute();
        return { oldEndsAt };
      }),

    revoke: (orgId, tokenId) =>
      transact(engine, async (trx) => {
        // Links are created under this lock: none appears after the deletion below.
        await lockMembers(trx, orgId);
        const revoked = await trx.db
          .updateTable("service_tokens")
          .set({ revoked_at: sql<number>`coalesce(revoked_at, ${dialect.now})` })
          .where(is({ id: tokenId, org_id: orgId }))
          .returning("id")
          .executeTakeFirst();
        if (!revoked) return false;
        await endLinksOf(trx, tokenId);
        return true;
      }),

    async touch(tokenId) {
      await db
        .updateTable("service_tokens")
        .set({ last_used_at: dialect.now })
        .where("id", "=", tokenId)
        .where((eb) =>
          eb.or([
            eb("last_used_at", "is", null),
            eb("last_used_at", "<=", sql<number>`${dialect.now} - ${sql.lit(TOUCH_MS)}`),
          ]),
        )
        .execute();
    },
  };
}

function tokenReads(engine: Engine): Pick<ServiceTokenStore, "find" | "get" | "list" | "valid"> {
  const { db } = engine;
  return {
    async find(hash) {
      const row = await tokens(engine)
        .innerJoin("orgs", "orgs.id", "service_tokens.org_id")
        .select("orgs.tier")
        .where("service_tokens.hash", "=", hash)
        .executeTakeFirst();
      return row?.state === "active" ? { ...toRecord(row), tier: row.tier } : undefined;
    },

    async get(orgId, tokenId) {
      const row = await tokens(engine).where("id", "=", tokenId).where("org_id", "=", orgId).executeTakeFirst();
      return row && toRecord(row);
    },

    async list(orgId, asked) {
      const page = await newestPage(tokens(engine).where("org_id", "=", orgId), asked, { at: "created_at", id: "id" });
      return { ...page, items: page.items.map(toRecord) };
    },

    async valid(tokenIds) {
      const all = db.selectFrom("service_tokens").select(["id", stateOf(engine).as("state")]);
      const rows = await inBatches(tokenIds, (ids) => all.where("id", "in", ids).execute());
      return new Set(rows.filter(({ state }) => state === "active").map(({ id }) => id));
    },
  };
}

/** Whether the organisation's service token is active. Call it under the link lock, which a revocation takes too. */
export async function isActiveToken(engine: Engine, orgId: string, tokenId: string): Promise<boolean> {
  const row = await tokens(engine).where("id", "=", tokenId).where("org_id", "=", orgId).executeTakeFirst();
  return row?.state === "active";
}

async function endLinksOf({ db }: Engine, tokenId: string): Promise<void> {
  const links = db.deleteFrom("sign_in_links").where("created_by_token", "=", tokenId);
  await links.where("used_at", "is", null).execute();
}

/** The links belong to the token's successor, so that a later revocation ends them too. */
const unusedLinksOf = ({ db }: Engine, tokenId: string) =>
  db.updateTable("sign_in_links").where("created_by_token", "=", tokenId).where("used_at", "is", null);

/** Prefix for service token ids. */
export const SERVICE_TOKEN_ID = "svt_";

const tokens = (engine: Engine) =>
  engine.db.selectFrom("service_tokens").selectAll("service_tokens").select(stateOf(engine).as("state"));

const stateOf = ({ dialect }: Engine) => sql<ServiceTokenRecord["state"]>`case
  when service_tokens.revoked_at is not null then 'revoked'
  when service_tokens.expires_at <= ${dialect.now} then 'expired'
  else 'active' end`;

/** Locks the token: of two simultaneous rotations, the second finds it ended or with a shorter life. */
async function lockToken(trx: Engine, orgId: string, tokenId: string) {
  await trx.db
    .updateTable("service_tokens")
    .set((eb) => ({ label: eb.ref("label") }))
    .where(is({ id: tokenId, org_id: orgId }))
    .execute();
  const own = tokens(trx).where("id", "=", tokenId).where("org_id", "=", orgId);
  return own.select(trx.dialect.now.as("now")).executeTakeFirst();
}

function toRecord(row: ServiceTokenRow & { state: ServiceTokenRecord["state"] }): ServiceTokenRecord {
  const { hash: _hash, lineage: _lineage, ...token } = serviceTokenColumns.recordOf(row);
  return { ...token, state: row.state };
}

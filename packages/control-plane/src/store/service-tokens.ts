import { sql } from "kysely";
import type { ServiceTokenRecord, ServiceTokenStore } from "../ports/service-tokens.ts";
import { fromJson, idBatches, withoutNulls, toJson } from "./columns.ts";
import { type Engine, transact } from "./engine.ts";
import { lockMembers } from "./members.ts";
import { olderThan, pageFrom } from "./page-cursor.ts";
import type { ServiceTokenRow } from "./schema.ts";

const TOUCH_MS = 60_000;
const ORDER = { at: "created_at", id: "id" };

/** Service tokens. Only hashes of their secrets are stored. */
export function serviceTokenStore(engine: Engine): ServiceTokenStore {
  const { db, dialect } = engine;
  return {
    ...tokenReads(engine),

    async create({ tokenId, orgId, hash, hint, scopes, label, createdBy, expiresAt }) {
      const row = { id: tokenId, org_id: orgId, hash, hint, scopes: toJson(scopes), created_at: dialect.now };
      const optional = { label: label ?? null, created_by: createdBy ?? null, expires_at: expiresAt ?? null };
      await db
        .insertInto("service_tokens")
        .values({ ...row, ...optional })
        .execute();
    },

    rotate: ({ orgId, tokenId }, fresh, overlapMs) =>
      transact(engine, async (trx) => {
        // Links are made under this lock, and so for a token that is active until the end of this transaction.
        await lockMembers(trx, orgId);
        const old = await lockToken(trx, orgId, tokenId);
        if (old?.state !== "active") return undefined;
        const { now, state: _state, ...row } = old;
        const { tokenId: id, hash, hint, createdBy, expiresAt: endsBy = Infinity } = fresh;
        const ends = Math.min(endsBy, old.expires_at === null ? Infinity : now + old.expires_at - old.created_at);
        const expires_at = ends === Infinity ? null : ends;
        const oldEndsAt = Math.min(now + overlapMs, old.expires_at ?? Number.MAX_SAFE_INTEGER);
        await trx.db
          .updateTable("service_tokens")
          .set(overlapMs === 0 ? { revoked_at: now } : { expires_at: oldEndsAt })
          .where("id", "=", tokenId)
          .execute();
        const secret = {
          id,
          hash,
          hint,
          created_by: createdBy ?? null,
          created_at: now,
          expires_at,
          last_used_at: null,
        };
        await trx.db
          .insertInto("service_tokens")
          .values({ ...row, ...secret })
          .execute();
        if (overlapMs === 0) await endLinksOf(trx, tokenId);
        else await unusedLinksOf(trx, tokenId).set({ created_by_token: id }).execute();
        return { oldEndsAt };
      }),

    revoke: (orgId, tokenId) =>
      transact(engine, async (trx) => {
        // Links are made under this lock: none appears after the deletion below.
        await lockMembers(trx, orgId);
        const revoked = await trx.db
          .updateTable("service_tokens")
          .set({ revoked_at: sql<number>`coalesce(revoked_at, ${dialect.now})` })
          .where("id", "=", tokenId)
          .where("org_id", "=", orgId)
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

    async list(orgId, { limit, cursor }) {
      const rows = await tokens(engine)
        .where("org_id", "=", orgId)
        .$if(cursor !== undefined, (narrowed) => narrowed.where(olderThan(cursor!, ORDER)))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit + 1)
        .execute();
      const endOf = (row: (typeof rows)[number]) => ({ at: row.created_at, id: row.id });
      const page = pageFrom(rows, { limit, floor: undefined, endOf });
      return { items: page.rows.map(toRecord), nextCursor: page.nextCursor };
    },

    async valid(tokenIds) {
      const found = new Set<string>();
      for (const ids of idBatches(tokenIds)) {
        const rows = await db
          .selectFrom("service_tokens")
          .select(["id", stateOf(engine).as("state")])
          .where("id", "in", ids)
          .execute();
        for (const { id, state } of rows) if (state === "active") found.add(id);
      }
      return found;
    },
  };
}

/** Whether the organisation's service token is active. Call it under the lock of links, which a revocation takes too. */
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

/** Ids of service tokens begin so. */
export const SERVICE_TOKEN_ID = "svt_";

const tokens = (engine: Engine) =>
  engine.db.selectFrom("service_tokens").selectAll("service_tokens").select(stateOf(engine).as("state"));

const stateOf = ({ dialect }: Engine) => sql<ServiceTokenRecord["state"]>`case
  when service_tokens.revoked_at is not null then 'revoked'
  when service_tokens.expires_at <= ${dialect.now} then 'expired'
  else 'active' end`;

/** Locks the token: of two rotations at the same time, the second finds it ended or with a shorter life. */
async function lockToken(trx: Engine, orgId: string, tokenId: string) {
  await trx.db
    .updateTable("service_tokens")
    .set((eb) => ({ label: eb.ref("label") }))
    .where("id", "=", tokenId)
    .where("org_id", "=", orgId)
    .execute();
  const own = tokens(trx).where("id", "=", tokenId).where("org_id", "=", orgId);
  return own.select(trx.dialect.now.as("now")).executeTakeFirst();
}

function toRecord(row: ServiceTokenRow & { state: ServiceTokenRecord["state"] }): ServiceTokenRecord {
  return {
    tokenId: row.id,
    orgId: row.org_id,
    hint: row.hint,
    scopes: fromJson(row.scopes),
    createdAt: row.created_at,
    state: row.state,
    ...withoutNulls({
      label: row.label,
      createdBy: row.created_by,
      expiresAt: row.expires_at,
      lastUsedAt: row.last_used_at,
      revokedAt: row.revoked_at,
    }),
  };
}

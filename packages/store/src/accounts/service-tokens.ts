import { sql } from "kysely";
import type { ServiceTokenRecord, ServiceTokenStore } from "@patchbay/engine/ports/store/service-tokens";
import { inBatches } from "../columns.ts";
import { type Engine, transact } from "../engine.ts";
import { earliest, endOfMaker, replace, touch } from "./holders.ts";
import { endLinks, lockMembers } from "./members.ts";
import { newestPage } from "../page-cursor.ts";
import { serviceTokenColumns, type ServiceTokenRow } from "../tables/credentials.ts";
import { affects, is } from "../statement.ts";

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
        const { now: _now, state: _state, ...ofOld } = old;
        const { oldEndsAt, row } = await replace(trx, "service_tokens", old, { overlapMs, createdBy: fresh.createdBy });
        await trx.db
          .insertInto("service_tokens")
          .values({ ...ofOld, ...row, ...serviceTokenColumns.someOf(fresh) })
          .execute();
        if (overlapMs === 0) await endLinks(trx, { created_by_token: tokenId });
        else await inheritLinks(trx, tokenId, fresh.tokenId);
        return { oldEndsAt };
      }),

    revoke: (orgId, tokenId) =>
      transact(engine, async (trx) => {
        // Links are created under this lock: none appears after the deletion below.
        await lockMembers(trx, orgId);
        const token = trx.db.updateTable("service_tokens").where(is({ id: tokenId, org_id: orgId }));
        const revoked = token.set({ revoked_at: sql<number>`coalesce(revoked_at, ${dialect.now})` });
        if (!(await affects(trx, revoked))) return false;
        await endLinks(trx, { created_by_token: tokenId });
        return true;
      }),

    touch: (tokenId) => touch(engine, "service_tokens", tokenId),
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
      const row = await oneToken(engine, orgId, tokenId).executeTakeFirst();
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
  const row = await oneToken(engine, orgId, tokenId).executeTakeFirst();
  return row?.state === "active";
}

/** The links belong to the token's successor, so that a later revocation ends them too. */
async function inheritLinks({ db }: Engine, tokenId: string, nextId: string): Promise<void> {
  const unused = db.updateTable("sign_in_links").where(is({ created_by_token: tokenId, used_at: null }));
  await unused.set({ created_by_token: nextId }).execute();
}

/** Prefix for service token ids. */
export const SERVICE_TOKEN_ID = "svt_";

const tokens = (engine: Engine) =>
  engine.db.selectFrom("service_tokens").selectAll("service_tokens").select(stateOf(engine).as("state"));

const oneToken = (engine: Engine, orgId: string, tokenId: string) =>
  tokens(engine).where(is({ id: tokenId, org_id: orgId }));

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
  return oneToken(trx, orgId, tokenId).select(trx.dialect.now.as("now")).executeTakeFirst();
}

function toRecord(row: ServiceTokenRow & { state: ServiceTokenRecord["state"] }): ServiceTokenRecord {
  const { hash: _hash, lineage: _lineage, ...token } = serviceTokenColumns.recordOf(row);
  return { ...token, state: row.state };
}

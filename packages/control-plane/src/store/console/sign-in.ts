import { sql } from "kysely";
import type { LinkRecord, SignInStore } from "../../ports/console-store.ts";
import type { Engine } from "../schema.ts";
import { transact } from "../transact.ts";
import { endLinks, insertMember, setAccount, toMember } from "./members.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const IDLE_MS = 12 * HOUR_MS;
const LIFE_MS = 7 * 24 * HOUR_MS;
const CONFIRMED_MS = 15 * MINUTE_MS;

/** Sessions and one-time links. */
export function signInStore(engine: Engine): SignInStore {
  return { ...sessions(engine), ...links(engine) };
}

type SessionMethod = "openSession" | "session" | "touchSession" | "rotateSession" | "closeSession";

function sessions(engine: Engine): Pick<SignInStore, SessionMethod> {
  const { db, dialect } = engine;
  const from = (ms: number) => sql<number>`${dialect.now} + ${sql.lit(ms)}`;
  const ago = (ms: number) => sql<number>`${dialect.now} - ${sql.lit(ms)}`;
  return {
    async openSession({ hash, memberId }) {
      await db.updateTable("members").set({ last_seen_at: dialect.now }).where("id", "=", memberId).execute();
      await db
        .insertInto("console_sessions")
        .values((eb) => ({
          hash,
          org_id: eb.selectFrom("members").select("org_id").where("id", "=", memberId),
          member_id: memberId,
          created_at: dialect.now,
          last_seen_at: dialect.now,
          confirmed_until: from(CONFIRMED_MS),
          expires_at: from(LIFE_MS),
        }))
        .execute();
    },

    async session(hash) {
      const row = await db
        .selectFrom("console_sessions as session")
        .innerJoin("members", "members.id", "session.member_id")
        .innerJoin("orgs", "orgs.id", "members.org_id")
        .where("session.hash", "=", hash)
        .where("members.removed_at", "is", null)
        .where("session.expires_at", ">", dialect.now)
        .where("session.last_seen_at", ">", ago(IDLE_MS))
        .selectAll("members")
        .select(["orgs.name as org_name", "orgs.tier", "session.expires_at", "session.confirmed_until"])
        .select((eb) => [
          eb.case().when("session.confirmed_until", ">", dialect.now).then(1).else(0).end().as("confirmed"),
          eb.case().when("session.last_seen_at", "<=", ago(MINUTE_MS)).then(1).else(0).end().as("stale"),
        ])
        .executeTakeFirst();
      return (
        row && {
          member: toMember(row),
          org: { orgId: row.org_id, name: row.org_name, tier: row.tier },
          expiresAt: row.expires_at,
          confirmedUntil: row.confirmed_until,
          confirmed: row.confirmed === 1,
          stale: row.stale === 1,
        }
      );
    },

    async touchSession(hash) {
      const seen = await db
        .updateTable("console_sessions")
        .set({ last_seen_at: dialect.now })
        .where("hash", "=", hash)
        .returning(["member_id", "last_seen_at"])
        .executeTakeFirst();
      if (!seen) return;
      await db
        .updateTable("members")
        .set({ last_seen_at: seen.last_seen_at })
        .where("id", "=", seen.member_id)
        .execute();
    },

    async rotateSession({ hash, next }) {
      const rotated = await db
        .updateTable("console_sessions")
        .set({ hash: next, last_seen_at: dialect.now, confirmed_until: from(CONFIRMED_MS) })
        .where("hash", "=", hash)
        .returning("hash")
        .executeTakeFirst();
      return rotated !== undefined;
    },

    async closeSession(hash) {
      await db.deleteFrom("console_sessions").where("hash", "=", hash).execute();
    },
  };
}

type LinkMethod = Exclude<keyof SignInStore, SessionMethod>;

function links(engine: Engine): Pick<SignInStore, LinkMethod> {
  const { dialect } = engine;
  const from = (ms: number) => sql<number>`${dialect.now} + ${sql.lit(ms)}`;
  return {
    createLink: ({ hash, kind, memberId, lifeMs }) =>
      transact(engine, async (trx) => {
        await endLinks(trx, memberId);
        const made = await trx.db
          .insertInto("console_links")
          .values((eb) => ({
            hash,
            kind,
            org_id: eb.selectFrom("members").select("org_id").where("id", "=", memberId),
            member_id: memberId,
            created_at: dialect.now,
            expires_at: from(lifeMs),
          }))
          .returning("expires_at")
          .executeTakeFirstOrThrow();
        return made.expires_at;
      }),

    createSetUpLink: ({ hash, lifeMs, replace }) =>
      transact(engine, async (trx) => {
        if (await hasMembers(trx)) return undefined;
        const unused = trx.db.deleteFrom("console_links").where("kind", "=", "setup").where("used_at", "is", null);
        await (replace ? unused : unused.where("expires_at", "<=", dialect.now)).execute();
        const made = await trx.db
          .insertInto("console_links")
          .values({ hash, kind: "setup", created_at: dialect.now, expires_at: from(lifeMs) })
          .onConflict((conflict) => conflict.doNothing())
          .returning("expires_at")
          .executeTakeFirst();
        return made?.expires_at;
      }),

    link: (hash) => findLink(engine, hash),
    useLink: (hash) => takeLink(engine, hash),

    acceptInvitation: (hash, { memberId, ...chosen }) =>
      transact(engine, async (trx) => {
        if (!(await takeLink(trx, hash))) return false;
        await setAccount(trx, memberId, chosen);
        return true;
      }),

    setUp: (hash, { org, owner }) =>
      transact(engine, async (trx) => {
        if ((await hasMembers(trx)) || !(await takeLink(trx, hash))) return false;
        if (org) {
          const { orgId, name, tier } = org;
          const row = { id: orgId, name, tier, balance_micros: 0, created_at: dialect.now };
          await trx.db.insertInto("orgs").values(row).execute();
        }
        await insertMember(trx, owner);
        return true;
      }),
  };
}

async function findLink(engine: Engine, hash: string): Promise<LinkRecord | undefined> {
  const { db, dialect } = engine;
  const row = await db
    .selectFrom("console_links as link")
    .leftJoin("orgs", "orgs.id", "link.org_id")
    .where("link.hash", "=", hash)
    .where("link.used_at", "is", null)
    .where("link.expires_at", ">", dialect.now)
    .select(["link.kind", "link.org_id", "link.member_id", "link.expires_at", "orgs.name"])
    .executeTakeFirst();
  if (!row || (row.kind === "setup" && (await hasMembers(engine)))) return undefined;
  const member =
    row.member_id === null
      ? undefined
      : await db.selectFrom("members").selectAll().where("id", "=", row.member_id).executeTakeFirst();
  return {
    kind: row.kind,
    org: row.org_id === null || row.name === null ? null : { orgId: row.org_id, name: row.name },
    member: member ? toMember(member) : null,
    expiresAt: row.expires_at,
  };
}

/** Whoever has no address can come in by a development link alone, and so has set up nothing for others. */
async function hasMembers({ db }: Engine): Promise<boolean> {
  const members = db.selectFrom("members").select("id").where("removed_at", "is", null).where("email", "is not", null);
  return (await members.limit(1).execute()).length > 0;
}

async function takeLink({ db, dialect }: Engine, hash: string): Promise<boolean> {
  const taken = await db
    .updateTable("console_links")
    .set({ used_at: dialect.now })
    .where("hash", "=", hash)
    .where("used_at", "is", null)
    .where("expires_at", ">", dialect.now)
    .returning("hash")
    .executeTakeFirst();
  return taken !== undefined;
}

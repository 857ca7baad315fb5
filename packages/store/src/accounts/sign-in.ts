import type { SignInStore } from "@patchbay/engine/ports/store/members";
import { inBatches } from "../columns.ts";
import type { Engine } from "../engine.ts";
import { affects } from "../statement.ts";
import { ago, inMs } from "../moments.ts";
import { toMember } from "./members.ts";
import { links } from "./sign-in-links.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const IDLE_MS = 12 * HOUR_MS;
const LIFE_MS = 7 * 24 * HOUR_MS;
const CONFIRMED_MS = 15 * MINUTE_MS;

/** Sessions and one-time links of console members. Secrets are stored only as hashes. */
export function signInStore(engine: Engine): SignInStore {
  return { ...sessionReads(engine), ...sessionChanges(engine), ...links(engine) };
}

/**
 * A session is valid until it expires, is idle for 12 hours, or its member is removed. Every read checks this in the
 * database: another process may have ended the session.
 */
function sessionReads(engine: Engine) {
  const { db, dialect } = engine;
  const valid = () =>
    db
      .selectFrom("console_sessions as session")
      .innerJoin("members", "members.id", "session.member_id")
      .where("members.removed_at", "is", null)
      .where("session.expires_at", ">", dialect.now)
      .where("session.last_seen_at", ">", ago(engine, IDLE_MS));
  return {
    async session(hash) {
      const row = await valid()
        .innerJoin("orgs", "orgs.id", "members.org_id")
        .where("session.hash", "=", hash)
        .selectAll("members")
        .select(["orgs.name as org_name", "orgs.tier", "session.expires_at", "session.confirmed_until"])
        .select((eb) => [
          eb.case().when("session.confirmed_until", ">", dialect.now).then(1).else(0).end().as("confirmed"),
          eb.case().when("session.last_seen_at", "<=", ago(engine, MINUTE_MS)).then(1).else(0).end().as("stale"),
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

    async validSessions(hashes) {
      const all = valid().select("session.hash");
      const rows = await inBatches(hashes, (batch) => all.where("session.hash", "in", batch).execute());
      return new Set(rows.map(({ hash }) => hash));
    },
  } satisfies Partial<SignInStore>;
}

/** A new or rotated session counts as confirmed: the password was just checked. */
function sessionChanges(engine: Engine) {
  const { db, dialect } = engine;
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
          confirmed_until: inMs(engine, CONFIRMED_MS),
          expires_at: inMs(engine, LIFE_MS),
        }))
        .execute();
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

    rotateSession({ hash, next }) {
      const rotated = { hash: next, last_seen_at: dialect.now, confirmed_until: inMs(engine, CONFIRMED_MS) };
      return affects(engine, db.updateTable("console_sessions").set(rotated).where("hash", "=", hash));
    },

    async closeSession(hash) {
      await db.deleteFrom("console_sessions").where("hash", "=", hash).execute();
    },
  } satisfies Partial<SignInStore>;
}

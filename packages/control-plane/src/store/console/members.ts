import type { MemberChanged, MemberRecord, MemberStore, NewMember } from "../../ports/console-store.ts";
import { parseCursor, toCursor } from "../page-cursor.ts";
import type { Engine } from "../schema.ts";
import { transact } from "../transact.ts";
import type { MemberTableRow } from "./member-rows.ts";

export function memberStore(engine: Engine): MemberStore {
  const { db } = engine;
  const living = () => db.selectFrom("members").selectAll().where("removed_at", "is", null);
  const one = async (query: ReturnType<typeof living>) => {
    const row = await query.executeTakeFirst();
    return row && toMember(row);
  };
  return {
    create: (member) => insertMember(engine, member),

    async list(orgId, { limit, cursor }) {
      let query = living().where("org_id", "=", orgId);
      if (cursor !== undefined) {
        const last = parseCursor(cursor);
        query = query.where((eb) =>
          eb.or([eb("created_at", ">", last.at), eb.and([eb("created_at", "=", last.at), eb("id", ">", last.id)])]),
        );
      }
      const rows = await query
        .orderBy("created_at")
        .orderBy("id")
        .limit(limit + 1)
        .execute();
      const items = rows.slice(0, limit).map(toMember);
      const last = items.at(-1);
      const more = rows.length > limit && last;
      return { items, nextCursor: more ? toCursor({ at: last.createdAt, id: last.memberId }) : null };
    },

    get: (orgId, memberId) => one(living().where("id", "=", memberId).where("org_id", "=", orgId)),
    byId: (memberId) => one(living().where("id", "=", memberId)),
    byEmail: (email) => one(living().where("email", "=", email).where("password_hash", "is not", null)),
    byLinkAlone: (orgId) => one(living().where("org_id", "=", orgId).where("email", "is", null).orderBy("created_at")),

    changeRole: (orgId, memberId, role) =>
      alter(engine, { orgId, memberId, keeps: role === "owner" }, async (trx) => {
        await trx.db.updateTable("members").set({ role }).where("id", "=", memberId).execute();
        await endSessions(trx, memberId);
        await endLinksBy(trx, memberId);
      }),

    remove: (orgId, memberId) =>
      alter(engine, { orgId, memberId, keeps: false }, async (trx) => {
        await markRemoved(trx, memberId);
        await endAccess(trx, memberId);
      }),

    changeAccount: (memberId, change) =>
      transact(engine, async (trx) => {
        await lockMembersWith(trx, memberId);
        await setAccount(trx, memberId, change);
      }),
  };
}

export async function insertMember({ db, dialect }: Engine, member: NewMember): Promise<boolean> {
  const made = await db
    .insertInto("members")
    .values({
      id: member.memberId,
      org_id: member.orgId,
      email: member.email,
      name: member.name,
      role: member.role,
      password_hash: member.passwordHash,
      created_at: dialect.now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  return made !== undefined;
}

export async function setAccount(
  trx: Engine,
  memberId: string,
  { name, passwordHash }: { name?: string; passwordHash?: string },
): Promise<void> {
  await trx.db
    .updateTable("members")
    // An empty change must still be a statement.
    .set((eb) => ({
      name: name ?? eb.ref("name"),
      password_hash: passwordHash ?? eb.ref("password_hash"),
    }))
    .where("id", "=", memberId)
    .where("removed_at", "is", null)
    .execute();
  if (passwordHash !== undefined) await endAccess(trx, memberId);
}

/**
 * Changes of an organisation's members and links go one by one from here to the end of the transaction: two owners cannot remove
 * each other, and a link cannot be made while its author is removed.
 */
export async function lockMembers({ db }: Engine, orgId: string): Promise<void> {
  await db
    .updateTable("orgs")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", orgId)
    .execute();
}

/** As `lockMembers`, for the organisation of a member: undefined where the member is unknown. */
export async function lockMembersWith(trx: Engine, memberId: string): Promise<string | undefined> {
  const member = await trx.db.selectFrom("members").select("org_id").where("id", "=", memberId).executeTakeFirst();
  if (member) await lockMembers(trx, member.org_id);
  return member?.org_id;
}

export async function markRemoved({ db, dialect }: Engine, memberId: string): Promise<void> {
  await db.updateTable("members").set({ removed_at: dialect.now }).where("id", "=", memberId).execute();
}

/** Changes a member, unless that leaves the organisation without an owner. */
function alter(
  engine: Engine,
  { orgId, memberId, keeps }: { orgId: string; memberId: string; keeps: boolean },
  change: (trx: Engine) => Promise<void>,
): Promise<MemberChanged> {
  return transact(engine, async (trx) => {
    await lockMembers(trx, orgId);
    const rows = await trx.db
      .selectFrom("members")
      .select(["id", "email", "role", "password_hash"])
      .where("org_id", "=", orgId)
      .where("removed_at", "is", null)
      .where((eb) => eb.or([eb("id", "=", memberId), eb("role", "=", "owner")]))
      .execute();
    const member = rows.find(({ id }) => id === memberId);
    if (!member) return "unknown";
    // Someone invited who never came in is no owner yet.
    const others = rows.filter((one) => one !== member && (one.password_hash !== null || one.email === null));
    if (member.role === "owner" && !keeps && others.length === 0) return "last_owner";
    await change(trx);
    return "changed";
  });
}

/** Ends whatever lets the member, or somebody whom the member handed a link, come in. */
async function endAccess(trx: Engine, memberId: string): Promise<void> {
  await endSessions(trx, memberId);
  await endLinksFor(trx, memberId);
  await endLinksBy(trx, memberId);
}

/** How many links it ended. */
export async function endLinksFor({ db }: Engine, memberId: string): Promise<number> {
  const unused = db.deleteFrom("console_links").where("member_id", "=", memberId).where("used_at", "is", null);
  return (await unused.returning("hash").execute()).length;
}

async function endLinksBy({ db }: Engine, memberId: string): Promise<void> {
  await db.deleteFrom("console_links").where("created_by", "=", memberId).where("used_at", "is", null).execute();
}

async function endSessions({ db }: Engine, memberId: string): Promise<void> {
  await db.deleteFrom("console_sessions").where("member_id", "=", memberId).execute();
}

export function toMember(row: Omit<MemberTableRow, "removed_at">): MemberRecord {
  return {
    memberId: row.id,
    orgId: row.org_id,
    email: row.email,
    name: row.name,
    role: row.role,
    passwordHash: row.password_hash,
    createdAt: row.created_at,
    lastSeenAt: row.last_seen_at,
  };
}

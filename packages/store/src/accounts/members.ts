import { makeDue } from "../calls/approvals.ts";
import { type Engine, transact } from "../engine.ts";
import type { MemberChanged, MemberRecord, MemberStore, NewMember } from "@patchbay/engine/ports/store/members";
import { oldestFirst, pageFrom, parseCursor } from "../page-cursor.ts";
import { type LinkTableRow, memberColumns, type MemberTableRow } from "../tables/schema.ts";
import { affects, is } from "../statement.ts";

/** Members of organisations. A removed member's row stays, because audit entries refer to it. */
export function memberStore(engine: Engine): MemberStore {
  const { db } = engine;
  const existing = () => db.selectFrom("members").selectAll().where("removed_at", "is", null);
  const one = async (query: ReturnType<typeof existing>) => {
    const row = await query.executeTakeFirst();
    return row && toMember(row);
  };
  return {
    create: (member) => insertMember(engine, member),

    async list(orgId, { limit, cursor }) {
      const ofOrg = existing().where("org_id", "=", orgId);
      const found = await oldestFirst(ofOrg, cursor === undefined ? undefined : parseCursor(cursor))
        .limit(limit + 1)
        .execute();
      const endOf = ({ created_at: at, id }: MemberTableRow) => ({ at, id });
      const { rows, nextCursor } = pageFrom(found, { limit, endOf });
      return { items: rows.map(toMember), nextCursor };
    },

    get: (orgId, memberId) => one(existing().where("id", "=", memberId).where("org_id", "=", orgId)),
    byId: (memberId) => one(existing().where("id", "=", memberId)),
    byEmail: (email) => one(existing().where("email", "=", email).where("password_hash", "is not", null)),
    byLinkOnly: (orgId) => one(existing().where("org_id", "=", orgId).where("email", "is", null).orderBy("created_at")),

    changeRole: (orgId, memberId, role) =>
      alter(engine, { orgId, memberId, keeps: role === "owner" }, async (trx) => {
        await trx.db.updateTable("members").set({ role }).where("id", "=", memberId).execute();
        await endSessions(trx, memberId);
        await endLinks(trx, { created_by: memberId });
        // A service token could not have created the link for the new role.
        await unusedLinks(trx, { member_id: memberId }).where("created_by_token", "is not", null).execute();
      }),

    remove: (orgId, memberId) =>
      alter(engine, { orgId, memberId, keeps: false }, async (trx) => {
        await markRemoved(trx, memberId);
        await endAccess(trx, memberId);
        await makeDue(trx, (eb) => eb("key_id", "=", memberId));
      }),

    changeAccount: (memberId, change) =>
      transact(engine, async (trx) => {
        await lockMembersWith(trx, memberId);
        await setAccount(trx, memberId, change);
      }),
  };
}

/** False when another member in the organisation has the address. */
export function insertMember({ db, dialect }: Engine, member: NewMember): Promise<boolean> {
  const made = db.insertInto("members").values({ ...memberColumns.someOf(member), created_at: dialect.now });
  return affects(
    { db },
    made.onConflict((conflict) => conflict.doNothing()),
  );
}

export async function setAccount(
  trx: Engine,
  memberId: string,
  { name, passwordHash }: { name?: string; passwordHash?: string },
): Promise<void> {
  await trx.db
    .updateTable("members")
    // Without a column to set, the statement would be invalid.
    .set((eb) => ({ name: name ?? eb.ref("name"), password_hash: passwordHash ?? eb.ref("password_hash") }))
    .where(is({ id: memberId, removed_at: null }))
    .execute();
  if (passwordHash !== undefined) await endAccess(trx, memberId);
}

/**
 * Locks the organisation's row until the transaction ends, so that changes to its members and links are sequential.
 * Otherwise two owners could remove each other at the same time, and a removed member could leave a new link.
 */
export async function lockMembers({ db }: Engine, orgId: string): Promise<void> {
  await db
    .updateTable("orgs")
    .set((eb) => ({ name: eb.ref("name") }))
    .where("id", "=", orgId)
    .execute();
}

/** As `lockMembers`, for a member's organisation. Undefined for an unknown member. */
export async function lockMembersWith(trx: Engine, memberId: string): Promise<string | undefined> {
  const member = await trx.db.selectFrom("members").select("org_id").where("id", "=", memberId).executeTakeFirst();
  if (member) await lockMembers(trx, member.org_id);
  return member?.org_id;
}

export async function markRemoved({ db, dialect }: Engine, memberId: string): Promise<void> {
  await db.updateTable("members").set({ removed_at: dialect.now }).where("id", "=", memberId).execute();
}

/** Changes a member, unless the organisation would have no owner afterwards. `keeps`: the member stays an owner. */
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
      .where(is({ org_id: orgId, removed_at: null }))
      .where((eb) => eb.or([eb("id", "=", memberId), eb("role", "=", "owner")]))
      .execute();
    const member = rows.find(({ id }) => id === memberId);
    if (!member) return "unknown";
    // An invited owner who has not joined cannot act yet.
    const others = rows.filter((one) => one !== member && (one.password_hash !== null || one.email === null));
    if (member.role === "owner" && !keeps && others.length === 0) return "last_owner";
    await change(trx);
    return "changed";
  });
}

/** Ends the member's sessions and links, including links that the member created for others. */
async function endAccess(trx: Engine, memberId: string): Promise<void> {
  await endSessions(trx, memberId);
  await endLinks(trx, { member_id: memberId });
  // A removed member must not return through a link created for someone else.
  await endLinks(trx, { created_by: memberId });
}

/** Deletes the unused links with these columns. False without one. */
export const endLinks = (trx: Engine, which: Partial<LinkTableRow>): Promise<boolean> =>
  affects(trx, unusedLinks(trx, which));

export const unusedLinks = ({ db }: Engine, which: Partial<LinkTableRow>) =>
  db.deleteFrom("sign_in_links").where(is({ ...which, used_at: null }));

async function endSessions({ db }: Engine, memberId: string): Promise<void> {
  await db.deleteFrom("console_sessions").where("member_id", "=", memberId).execute();
}

export const toMember = (row: Omit<MemberTableRow, "removed_at">): MemberRecord => memberColumns.recordOf(row);

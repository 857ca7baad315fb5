import type { ConsoleRole } from "@patchbay/protocol/console";
import { type Engine, transact } from "../engine.ts";
import { sql } from "kysely";
import type { Accepted, LinkMade, LinkRecord, SignInStore } from "@patchbay/engine/ports/store/members";
import { insertOrg } from "./accounts.ts";
import { endOfMaker } from "./holders.ts";
import { isActiveToken, SERVICE_TOKEN_ID } from "./service-tokens.ts";
import { inMs } from "../moments.ts";
import { newestFirst, type PageAsked, pageFrom } from "../page-cursor.ts";
import { endLinks, insertMember, lockMembers, lockMembersWith } from "./members.ts";
import { markRemoved, setAccount, toMember, unusedLinks } from "./members.ts";
import { affects, is } from "../statement.ts";

/** One-time links. All transactions lock the organisation before the link, so they cannot deadlock. */
export function links(engine: Engine) {
  const { dialect } = engine;
  return {
    createLink: ({ memberId, role, ...link }) =>
      transact(engine, async (trx) => {
        const orgId = await lockMembersWith(trx, memberId);
        if (orgId === undefined || !(await mayMakeLinks(trx, orgId, link.by))) return { kind: "not_owner" };
        if (role !== undefined && !(await hasRole(trx, memberId, role))) return { kind: "role_changed" };
        await endLinks(trx, { member_id: memberId });
        return insertLink(trx, { ...link, orgId, memberId });
      }),

    invite: ({ member, ...link }) =>
      transact(engine, async (trx) => {
        const { orgId, memberId } = member;
        await lockMembers(trx, orgId);
        if (!(await mayMakeLinks(trx, orgId, link.by))) return { kind: "not_owner" };
        if (!(await insertMember(trx, member))) return { kind: "member_exists" };
        return insertLink(trx, { ...link, kind: "invitation", orgId, memberId });
      }),

    pendingLinks: (orgId, page) => pendingLinks(engine, orgId, page),

    withdrawLink: (orgId, memberId) =>
      transact(engine, async (trx) => {
        await lockMembers(trx, orgId);
        const member = await trx.db
          .selectFrom("members")
          .select(["email", "password_hash"])
          .where(is({ id: memberId, org_id: orgId, removed_at: null }))
          .executeTakeFirst();
        if (!member || !(await endLinks(trx, { member_id: memberId }))) return false;
        if (member.email !== null && member.password_hash === null) await markRemoved(trx, memberId);
        return true;
      }),

    createSetUpLink: ({ hash, lifeMs, replace }) =>
      transact(engine, async (trx) => {
        if (await hasMembers(trx)) return undefined;
        const unused = unusedLinks(trx, { kind: "setup" });
        await (replace ? unused : unused.where("expires_at", "<=", dialect.now)).execute();
        const made = await trx.db
          .insertInto("sign_in_links")
          .values({ hash, kind: "setup", created_at: dialect.now, expires_at: inMs(engine, lifeMs) })
          .onConflict((conflict) => conflict.doNothing())
          .returning("expires_at")
          .executeTakeFirst();
        return made?.expires_at;
      }),

    link: (hash) => findLink(engine, hash),
    useLink: (hash) => takeLink(engine, hash),

    acceptInvitation: (hash, { memberId, ...chosen }) =>
      transact(engine, async (trx): Promise<Accepted> => {
        await lockMembersWith(trx, memberId);
        if (await lockAddress(trx, memberId)) return "address_taken";
        if (!(await takeLink(trx, hash))) return "gone";
        await setAccount(trx, memberId, chosen);
        return "accepted";
      }),

    setUp: (hash, { org, owner }) =>
      transact(engine, async (trx) => {
        if ((await hasMembers(trx)) || !(await takeLink(trx, hash))) return false;
        if (org) await insertOrg(trx, org);
        await insertMember(trx, owner);
        return true;
      }),
  } satisfies Partial<SignInStore>;
}

interface LinkRow {
  hash: string;
  kind: "sign_in" | "invitation";
  orgId: string;
  memberId: string;
  by?: string | undefined;
  lifeMs: number;
}

async function insertLink(trx: Engine, { hash, kind, orgId, memberId, by, lifeMs }: LinkRow): Promise<LinkMade> {
  const last = await endOfMaker(trx, by);
  const ends = inMs(trx, lifeMs);
  const made = await trx.db
    .insertInto("sign_in_links")
    .values({
      hash,
      kind,
      org_id: orgId,
      member_id: memberId,
      ...(isToken(by) ? { created_by_token: by } : { created_by: by ?? null }),
      created_at: trx.dialect.now,
      expires_at:
        last === null ? ends : sql<number>`case when ${ends} < ${sql.lit(last)} then ${ends} else ${sql.lit(last)} end`,
    })
    .returning("expires_at")
    .executeTakeFirstOrThrow();
  return { kind: "made", expiresAt: made.expires_at };
}

const isToken = (by: string | undefined): by is string => by?.startsWith(SERVICE_TOKEN_ID) === true;

/**
 * True for an owner, an active service token, and for commands. Call it under the lock, so that an author who is being removed leaves
 * no link.
 */
async function mayMakeLinks(engine: Engine, orgId: string, by: string | undefined): Promise<boolean> {
  if (by === undefined) return true;
  if (isToken(by)) return isActiveToken(engine, orgId, by);
  const author = await engine.db
    .selectFrom("members")
    .select("id")
    .where(is({ id: by, org_id: orgId, role: "owner", removed_at: null }))
    .executeTakeFirst();
  return author !== undefined;
}

async function hasRole({ db }: Engine, memberId: string, role: ConsoleRole): Promise<boolean> {
  const member = await db.selectFrom("members").select("role").where("id", "=", memberId).executeTakeFirst();
  return member?.role === role;
}

/**
 * Locks all members with this member's address. True when another one has joined with it. Without the lock, two people who
 * accept invitations to one address at the same time could both join.
 */
async function lockAddress({ db }: Engine, memberId: string): Promise<boolean> {
  const rows = await db
    .updateTable("members")
    .set((eb) => ({ email: eb.ref("email") }))
    .where("removed_at", "is", null)
    .where("email", "=", (eb) => eb.selectFrom("members as own").select("own.email").where("own.id", "=", memberId))
    .returning(["id", "password_hash"])
    .execute();
  return rows.some((row) => row.id !== memberId && row.password_hash !== null);
}

async function pendingLinks({ db, dialect }: Engine, orgId: string, { limit, cursor }: PageAsked) {
  const pending = db
    .selectFrom("sign_in_links as link")
    .innerJoin("members", "members.id", "link.member_id")
    .leftJoin("members as author", "author.id", "link.created_by")
    .where("link.org_id", "=", orgId)
    .where("link.used_at", "is", null)
    .where("link.expires_at", ">", dialect.now)
    .selectAll("members")
    .select(["link.created_at as made_at", "link.expires_at", "link.created_by"])
    .select(["author.name as author_name", "author.email as author_email"]);
  // A member has at most one unused link, so the member's id identifies it and the cursor needs no hash.
  const sorted = newestFirst(pending, cursor, { at: "link.created_at", id: "link.member_id" });
  const { rows, nextCursor } = pageFrom(await sorted.limit(limit + 1).execute(), {
    limit,
    endOf: (row) => ({ at: row.made_at, id: row.id }),
  });
  const items = rows.map((row) => ({
    member: toMember(row),
    createdBy:
      row.created_by === null
        ? null
        : { memberId: row.created_by, name: row.author_name ?? "", email: row.author_email },
    createdAt: row.made_at,
    expiresAt: row.expires_at,
  }));
  return { items, nextCursor };
}

/** A valid link with its organisation and member. A set-up link is valid only until the first member exists. */
async function findLink(engine: Engine, hash: string): Promise<LinkRecord | undefined> {
  const { db, dialect } = engine;
  const row = await db
    .selectFrom("sign_in_links as link")
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
    addressTaken: member !== undefined && (await isAddressTaken(engine, member)),
    expiresAt: row.expires_at,
  };
}

async function isAddressTaken({ db }: Engine, member: { id: string; email: string | null }): Promise<boolean> {
  if (member.email === null) return false;
  const other = await db
    .selectFrom("members")
    .select("id")
    .where(is({ email: member.email, removed_at: null }))
    .where("password_hash", "is not", null)
    .where("id", "!=", member.id)
    .executeTakeFirst();
  return other !== undefined;
}

/** A member without an address belongs to a development set-up and does not count. */
async function hasMembers({ db }: Engine): Promise<boolean> {
  const members = db.selectFrom("members").select("id").where("removed_at", "is", null).where("email", "is not", null);
  return (await members.limit(1).execute()).length > 0;
}

/** Marks a link as used. One statement, so that when two people use the same link only the first succeeds. */
function takeLink({ db, dialect }: Engine, hash: string): Promise<boolean> {
  const unused = db.updateTable("sign_in_links").where(is({ hash, used_at: null }));
  return affects({ db }, unused.where("expires_at", ">", dialect.now).set({ used_at: dialect.now }));
}

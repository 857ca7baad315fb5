import type { ConsoleRole } from "@patchbay/protocol/console";
import type { MemberChanged, MemberRecord } from "../ports/console-store.ts";
import type { Store } from "../ports/stores.ts";
import { AdminError, found } from "./admin-error.ts";
import { hashSecret, newSecret, randomBase62 } from "./secret.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const LIFE_MS = { sign_in: 10 * MINUTE_MS, setup: DAY_MS, invitation: 7 * DAY_MS };

/** What is shown of a member: never the password's hash. */
export interface ListedMember {
  memberId: string;
  orgId: string;
  name: string;
  email: string | null;
  role: ConsoleRole;
  /** False until an invitation is accepted. */
  active: boolean;
  createdAt: string;
  lastSeenAt: string | null;
}

/** A link that is used once. */
export interface OneTimeLink {
  /** What follows the service's address. The secret stands behind `#`: it is never sent, and so stands in no log. */
  path: string;
  expiresAt: string;
}

export interface InvitedMember extends OneTimeLink {
  member: ListedMember;
}

/** Who may sign in to the console. Throws `AdminError`: changes of the last owner, and addresses that are taken, are conflicts. */
export interface Members {
  /** Oldest first. */
  list(
    orgId: string,
    page?: { limit?: number; cursor?: string },
  ): Promise<{ items: ListedMember[]; nextCursor: string | null }>;
  /** The link lives 7 days. */
  invite(member: { orgId: string; email: string; name?: string; role: ConsoleRole }): Promise<InvitedMember>;
  /** Another link to come in by, in place of earlier ones: it sets a new password. */
  link(orgId: string, memberId: string): Promise<InvitedMember>;
  /** Ends the member's sessions. */
  changeRole(orgId: string, memberId: string, role: ConsoleRole): Promise<ListedMember>;
  /** Ends the member's sessions and links. */
  remove(orgId: string, memberId: string): Promise<{ memberId: string }>;
  /** Which organisation a member is in, for those who administer all of them. */
  orgOf(memberId: string): Promise<string>;
  /**
   * A link for the first owner, valid for 24 hours. Undefined where somebody has been invited or set up already, where there
   * are several organisations, and, unless it is to `replace` that, where an unused one was made.
   */
  setUpLink(options: { replace: boolean }): Promise<OneTimeLink | undefined>;
  /** A link that signs in to the organisation as its owner without a password, for development. Valid for 10 minutes. */
  signInLink(orgId: string): Promise<OneTimeLink>;
}

/** `by` is the member in whose name it is done. Each change stands in the audit log. */
export function createMembers({ console, accounts, audit }: Store, by?: string): Members {
  const { members, signIn } = console;

  const memberOf = async (orgId: string, memberId: string) =>
    found(await members.get(orgId, memberId), "member", memberId, "members list");

  async function record(action: string, { orgId, memberId, role }: MemberRecord): Promise<void> {
    await audit.record([{ orgId, action, detail: { memberId, role }, ...(by !== undefined && { keyId: by }) }]);
  }

  async function linkFor(kind: "sign_in" | "invitation", memberId: string): Promise<OneTimeLink> {
    const secret = newSecret();
    const link = { hash: hashSecret(secret), kind, memberId, lifeMs: LIFE_MS[kind] };
    return oneTimeLink(secret, await signIn.createLink(link));
  }

  async function add(member: Pick<MemberRecord, "orgId" | "email" | "name" | "role">): Promise<MemberRecord> {
    const memberId = newMemberId();
    if (!(await members.create({ ...member, memberId, passwordHash: null })))
      throw new AdminError(`There is a member with the address ${member.email} already.`, "conflict");
    return memberOf(member.orgId, memberId);
  }

  return {
    async list(orgId, { limit = 100, cursor } = {}) {
      const page = await members.list(orgId, { limit, ...(cursor !== undefined && { cursor }) });
      return { items: page.items.map(listedMember), nextCursor: page.nextCursor };
    },

    async invite({ orgId, email, name, role }) {
      const address = parseEmail(email);
      const member = await add({ orgId, email: address, name: name?.trim() || nameIn(address), role });
      const link = await linkFor("invitation", member.memberId);
      await record("member.invited", member);
      return { member: listedMember(member), ...link };
    },

    async link(orgId, memberId) {
      const member = await memberOf(orgId, memberId);
      const link = await linkFor(member.email === null ? "sign_in" : "invitation", memberId);
      await record("member.linked", member);
      return { member: listedMember(member), ...link };
    },

    async changeRole(orgId, memberId, role) {
      const before = await memberOf(orgId, memberId);
      if (before.role === role) return listedMember(before);
      refuse(await members.changeRole(orgId, memberId, role), memberId);
      const member = { ...before, role };
      await record("member.role_changed", member);
      return listedMember(member);
    },

    async remove(orgId, memberId) {
      const member = await memberOf(orgId, memberId);
      refuse(await members.remove(orgId, memberId), memberId);
      await record("member.removed", member);
      return { memberId };
    },

    async orgOf(memberId) {
      return found(await members.byId(memberId), "member", memberId, "members list").orgId;
    },

    async setUpLink({ replace }) {
      if ((await accounts.listOrgs()).length > 1) return undefined;
      const secret = newSecret();
      const expiresAt = await signIn.createSetUpLink({ hash: hashSecret(secret), lifeMs: LIFE_MS.setup, replace });
      return expiresAt === undefined ? undefined : oneTimeLink(secret, expiresAt);
    },

    async signInLink(orgId) {
      const known = await members.byLinkAlone(orgId);
      const member = known ?? (await add({ orgId, email: null, name: "Developer", role: "owner" }));
      return linkFor("sign_in", member.memberId);
    },
  };
}

export function newMemberId(): string {
  return `mem_${randomBase62(22)}`;
}

export function listedMember(member: MemberRecord): ListedMember {
  const { memberId, orgId, name, email, role, passwordHash, createdAt, lastSeenAt } = member;
  return {
    memberId,
    orgId,
    name,
    email,
    role,
    active: passwordHash !== null || email === null,
    createdAt: iso(createdAt),
    lastSeenAt: lastSeenAt === null ? null : iso(lastSeenAt),
  };
}

function refuse(outcome: MemberChanged, memberId: string): void {
  if (outcome === "last_owner")
    throw new AdminError(
      "This is the organisation's last owner, who can neither be removed nor get another role. Make another member an owner first.",
      "conflict",
    );
  if (outcome === "unknown") found(undefined, "member", memberId, "members list");
}

function parseEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (/^[^\s@]+@[^\s@]+\.[^\s@.]+$/.test(email) && email.length <= 254) return email;
  throw new AdminError(`"${text}" is no e-mail address.`);
}

function oneTimeLink(secret: string, expiresAt: number): OneTimeLink {
  return { path: `/console/link#${secret}`, expiresAt: iso(expiresAt) };
}

const nameIn = (email: string) => email.slice(0, email.indexOf("@"));
const iso = (timeMs: number) => new Date(timeMs).toISOString();

import type { ConsoleRole } from "@patchbay/protocol/console";
import type { LinkMade, MemberChanged, MemberRecord, NewMember } from "../ports/console-store.ts";
import type { Store } from "../ports/stores.ts";
import { AdminError, found } from "./admin-error.ts";
import { hashSecret, newSecret, randomBase62 } from "./secret.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** `password` resets one that is in use: such a link takes over an account. */
const LIFE_MS = { sign_in: 10 * MINUTE_MS, setup: DAY_MS, invitation: 7 * DAY_MS, password: 60 * MINUTE_MS };

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

/** A link that can still be used; its secret is not stored. */
export interface PendingLink {
  member: ListedMember;
  /** Null where a command made it. */
  createdBy: { memberId: string; name: string; email: string | null } | null;
  createdAt: string;
  expiresAt: string;
}

/**
 * Who may sign in to the console. Throws `AdminError`: changes of the last owner, and addresses that a member of the organisation
 * has, are conflicts.
 */
export interface Members {
  /** Oldest first. */
  list(
    orgId: string,
    page?: { limit?: number; cursor?: string },
  ): Promise<{ items: ListedMember[]; nextCursor: string | null }>;
  /** The link lives 7 days. The answer does not depend on members of other organisations. */
  invite(member: { orgId: string; email: string; name?: string; role: ConsoleRole }): Promise<InvitedMember>;
  /**
   * Another link for a member, in place of earlier ones. It sets a new password: it lives 1 hour where the member has one, and 7
   * days where the member never joined.
   */
  link(orgId: string, memberId: string): Promise<InvitedMember>;
  /** Links of members that can still be used, newest first. */
  pendingLinks(
    orgId: string,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ items: PendingLink[]; nextCursor: string | null }>;
  /** Ends a member's link, and removes a member who never joined. */
  withdrawLink(orgId: string, memberId: string): Promise<{ memberId: string }>;
  /** Ends the member's sessions, and the unused links that the member made. */
  changeRole(orgId: string, memberId: string, role: ConsoleRole): Promise<ListedMember>;
  /** Ends the member's sessions, and the unused links for the member and by the member. */
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

  async function linkFor({ memberId, email, passwordHash }: MemberRecord): Promise<OneTimeLink> {
    const secret = newSecret();
    const kind = email === null ? "sign_in" : "invitation";
    const lifeMs = LIFE_MS[passwordHash === null ? kind : "password"];
    return oneTimeLink(secret, await signIn.createLink({ hash: hashSecret(secret), kind, memberId, lifeMs, by }));
  }

  return {
    async list(orgId, { limit = 100, cursor } = {}) {
      const page = await members.list(orgId, { limit, ...(cursor !== undefined && { cursor }) });
      return { items: page.items.map(listedMember), nextCursor: page.nextCursor };
    },

    async invite({ orgId, email, name, role }) {
      const address = parseEmail(email);
      const added = newMember({ orgId, email: address, name: name?.trim() || nameIn(address), role });
      const secret = newSecret();
      const invitation = { hash: hashSecret(secret), member: added, lifeMs: LIFE_MS.invitation, by };
      const made = await signIn.invite(invitation);
      if (made.kind === "member_exists")
        throw new AdminError(`${address} is already a member of this organisation.`, "conflict");
      const link = oneTimeLink(secret, made);
      const member = await memberOf(orgId, added.memberId);
      await record("member.invited", member);
      return { member: listedMember(member), ...link };
    },

    async link(orgId, memberId) {
      const member = await memberOf(orgId, memberId);
      const link = await linkFor(member);
      await record("member.linked", member);
      return { member: listedMember(member), ...link };
    },

    async pendingLinks(orgId, page) {
      const { items, nextCursor } = await signIn.pendingLinks(orgId, page);
      const shown = items.map(({ member, createdBy, createdAt, expiresAt }) => ({
        member: listedMember(member),
        createdBy,
        createdAt: iso(createdAt),
        expiresAt: iso(expiresAt),
      }));
      return { items: shown, nextCursor };
    },

    async withdrawLink(orgId, memberId) {
      const member = await memberOf(orgId, memberId);
      if (!(await signIn.withdrawLink(orgId, memberId)))
        throw new AdminError(
          `There is no pending link for ${member.email ?? memberId}: it was used, withdrawn or has expired. Make a new link if one is needed.`,
          "conflict",
        );
      await record("member.link_withdrawn", member);
      return { memberId };
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
      return expiresAt === undefined ? undefined : oneTimeLink(secret, { kind: "made", expiresAt });
    },

    async signInLink(orgId) {
      const known = await members.byLinkAlone(orgId);
      if (known) return linkFor(known);
      const developer = newMember({ orgId, email: null, name: "Developer", role: "owner" });
      await members.create(developer);
      return linkFor(await memberOf(orgId, developer.memberId));
    },
  };
}

export function newMemberId(): string {
  return `mem_${randomBase62(22)}`;
}

function newMember(member: Pick<NewMember, "orgId" | "email" | "name" | "role">): NewMember {
  return { ...member, memberId: newMemberId(), passwordHash: null };
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

function oneTimeLink(secret: string, made: LinkMade): OneTimeLink {
  if (made.kind === "not_owner")
    throw new AdminError("You are no longer an owner of this organisation, and only owners make links.", "conflict");
  return { path: `/console/link#${secret}`, expiresAt: iso(made.expiresAt) };
}

const nameIn = (email: string) => email.slice(0, email.indexOf("@"));
const iso = (timeMs: number) => new Date(timeMs).toISOString();

import { isoTime, isoTimeOrNull } from "@patchbay/kit";
import { type ConsoleRole, MemberEmail } from "@patchbay/protocol/console";
import type { LinkMade, MemberChanged, MemberRecord, NewMember } from "@patchbay/engine/ports/store/members";
import type { Page, PageAsked } from "@patchbay/engine/ports/store/page";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { AdminError, found } from "./admin-error.ts";
import { hashSecret, newSecret, randomBase62 } from "./secret.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** `password` is short, because such a link resets an existing account's password. */
const LIFE_MS = { sign_in: 10 * MINUTE_MS, setup: DAY_MS, invitation: 7 * DAY_MS, password: 60 * MINUTE_MS };

/** A member as shown in lists, without the password hash. */
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

/** A link that works once. */
export interface OneTimeLink {
  /** Path to add to the service's address. The secret follows `#`: browsers do not send it, so it appears in no log. */
  path: string;
  expiresAt: string;
}

export interface InvitedMember extends OneTimeLink {
  member: ListedMember;
}

/** A link that can still be used. Its secret is not stored. */
export interface PendingLink {
  member: ListedMember;
  /** Null for a link created by a command or a service token. */
  createdBy: { memberId: string; name: string; email: string | null } | null;
  createdAt: string;
  expiresAt: string;
}

/**
 * Manages the members who may sign in to the console. Methods throw `AdminError`; changes to the last owner and
 * addresses that another member already has are conflicts.
 */
export interface Members {
  /** Oldest first. */
  list(orgId: string, page?: Partial<PageAsked>): Promise<Page<ListedMember>>;
  /** The link is valid for 7 days. The answer does not reveal whether the address belongs to another organisation. */
  invite(member: { orgId: string; email: string; name?: string; role: ConsoleRole }): Promise<InvitedMember>;
  /**
   * Creates a link to set a new password, which replaces earlier links. Valid for 1 hour if the member has a password,
   * and for 7 days if the member has not joined. With `role`, only for a member with this role.
   */
  link(orgId: string, memberId: string, role?: ConsoleRole): Promise<InvitedMember>;
  /** Links that can still be used, newest first. */
  pendingLinks(orgId: string, page: PageAsked): Promise<Page<PendingLink>>;
  /** Ends a member's link. Removes a member who has not joined. */
  withdrawLink(orgId: string, memberId: string): Promise<{ memberId: string }>;
  /** Also ends the member's sessions and the unused links that the member created. */
  changeRole(orgId: string, memberId: string, role: ConsoleRole): Promise<ListedMember>;
  /** Also ends the member's sessions and the unused links for and by the member. */
  remove(orgId: string, memberId: string): Promise<{ memberId: string }>;
  /** A member's organisation, for commands, which see all organisations. */
  orgOf(memberId: string): Promise<string>;
  /**
   * Creates a link for the first owner, valid for 24 hours. Undefined when there are members or several organisations,
   * and when an unused link exists, unless `replace` is set.
   */
  setUpLink(options: { replace: boolean }): Promise<OneTimeLink | undefined>;
  /** Creates a link that signs in as an owner without a password, for development. Valid for 10 minutes. */
  signInLink(orgId: string): Promise<OneTimeLink>;
}

/** `by` is the acting member's id. Each change is written to the audit log. */
export function createMembers(store: Store, by?: string): Members {
  const context: Context = {
    ...store,
    by,
    async memberOf(orgId, memberId) {
      return found(await store.members.get(orgId, memberId), "member", memberId, "members list");
    },
    async record(action, { orgId, memberId, role }) {
      const author = by === undefined ? {} : { keyId: by };
      await store.audit.record([{ orgId, action, detail: { memberId, role }, ...author }]);
    },
  };
  return { ...memberChanges(context), ...memberLinks(context), ...firstLinks(context) };
}

interface Context extends Pick<Store, "members" | "signIn" | "accounts"> {
  by: string | undefined;
  memberOf(orgId: string, memberId: string): Promise<MemberRecord>;
  record(action: string, member: MemberRecord): Promise<void>;
}

function memberChanges({ members, memberOf, record }: Context) {
  return {
    async list(orgId, { limit = 100, cursor } = {}) {
      const page = await members.list(orgId, { limit, cursor });
      return { items: page.items.map(listedMember), nextCursor: page.nextCursor };
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
  } satisfies Partial<Members>;
}

function memberLinks(context: Context) {
  const { signIn, by, memberOf, record } = context;
  return {
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

    async link(orgId, memberId, role) {
      const member = await memberOf(orgId, memberId);
      const link = await linkFor(context, member, role);
      await record("member.linked", member);
      return { member: listedMember(member), ...link };
    },

    async pendingLinks(orgId, page) {
      const { items, nextCursor } = await signIn.pendingLinks(orgId, page);
      const shown = items.map(({ member, createdBy, createdAt, expiresAt }) => ({
        member: listedMember(member),
        createdBy,
        createdAt: isoTime(createdAt),
        expiresAt: isoTime(expiresAt),
      }));
      return { items: shown, nextCursor };
    },

    async withdrawLink(orgId, memberId) {
      const member = await memberOf(orgId, memberId);
      if (!(await signIn.withdrawLink(orgId, memberId)))
        throw new AdminError(
          `There is no pending link for ${member.email ?? memberId}: it was used, withdrawn or has expired. Create a new link if one is needed.`,
          "conflict",
        );
      await record("member.link_withdrawn", member);
      return { memberId };
    },
  } satisfies Partial<Members>;
}

/** Links for members who cannot be invited: the first owner, and the developer on a local machine. */
function firstLinks(context: Context): Pick<Members, "setUpLink" | "signInLink"> {
  const { members, signIn, accounts, memberOf } = context;
  return {
    async setUpLink({ replace }) {
      if ((await accounts.listOrgs()).length > 1) return undefined;
      const secret = newSecret();
      const expiresAt = await signIn.createSetUpLink({ hash: hashSecret(secret), lifeMs: LIFE_MS.setup, replace });
      return expiresAt === undefined ? undefined : oneTimeLink(secret, { kind: "made", expiresAt });
    },

    async signInLink(orgId) {
      const known = await members.byLinkOnly(orgId);
      if (known) return linkFor(context, known);
      const developer = newMember({ orgId, email: null, name: "Developer", role: "owner" });
      await members.create(developer);
      return linkFor(context, await memberOf(orgId, developer.memberId));
    },
  };
}

async function linkFor({ signIn, by }: Context, member: MemberRecord, role?: ConsoleRole): Promise<OneTimeLink> {
  const { memberId, email, passwordHash } = member;
  const secret = newSecret();
  const kind = email === null ? "sign_in" : "invitation";
  const lifeMs = LIFE_MS[passwordHash === null ? kind : "password"];
  return oneTimeLink(secret, await signIn.createLink({ hash: hashSecret(secret), kind, memberId, lifeMs, by, role }));
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
    createdAt: isoTime(createdAt),
    lastSeenAt: isoTimeOrNull(lastSeenAt),
  };
}

function refuse(outcome: MemberChanged, memberId: string): void {
  if (outcome === "last_owner")
    throw new AdminError(
      "This is the organisation's last owner, who cannot be removed or get another role. Make another member an owner first.",
      "conflict",
    );
  if (outcome === "unknown") found(undefined, "member", memberId, "members list");
}

function parseEmail(text: string): string {
  const email = MemberEmail.safeParse(text.trim());
  if (email.success) return email.data;
  throw new AdminError(`"${text}" is not a valid e-mail address.`);
}

function oneTimeLink(secret: string, made: LinkMade): OneTimeLink {
  if (made.kind !== "made") {
    const reason =
      made.kind === "role_changed"
        ? "the member got another role in the meantime. Try again."
        : "its author has lost the role of an owner, or its service token has ended.";
    throw new AdminError(`The link was not created: ${reason}`, "conflict");
  }
  return { path: `/console/link#${secret}`, expiresAt: isoTime(made.expiresAt) };
}

const nameIn = (email: string) => email.slice(0, email.indexOf("@"));

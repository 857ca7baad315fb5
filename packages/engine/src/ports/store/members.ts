import type { ConsoleRole } from "@patchbay/protocol/console";
import type { Page, PageAsked } from "./page.ts";

export interface MemberRecord {
  memberId: string;
  orgId: string;
  /**
   * Lower case; null for a member who signs in by link only. Unique in the organisation, and among all members with a password.
   */
  email: string | null;
  name: string;
  role: ConsoleRole;
  /** Null until an invitation is accepted. */
  passwordHash: string | null;
  createdAt: number;
  lastSeenAt: number | null;
}

export type NewMember = Omit<MemberRecord, "createdAt" | "lastSeenAt">;

/** The result of a change that could remove an organisation's last owner. */
export type MemberChanged = "changed" | "last_owner" | "unknown";

/** People who may sign in. No method finds a removed member. */
export interface MemberStore {
  /** False when another member in the organisation has the e-mail address. */
  create(member: NewMember): Promise<boolean>;
  /** Oldest first. Throws `invalid_request` for a cursor that no page returned. */
  list(orgId: string, page: PageAsked): Promise<Page<MemberRecord>>;
  get(orgId: string, memberId: string): Promise<MemberRecord | undefined>;
  /** In any organisation. */
  byId(memberId: string): Promise<MemberRecord | undefined>;
  /** The member, in any organisation, who signs in with the address; `email` in lower case. */
  byEmail(email: string): Promise<MemberRecord | undefined>;
  /** The organisation's member without an address, for development. */
  byLinkOnly(orgId: string): Promise<MemberRecord | undefined>;
  /** Ends the member's sessions and the unused links by the member. */
  changeRole(orgId: string, memberId: string, role: ConsoleRole): Promise<MemberChanged>;
  /** Ends the member's sessions and the unused links for and by the member. */
  remove(orgId: string, memberId: string): Promise<MemberChanged>;
  /** A new password ends sessions and links as `remove` does. */
  changeAccount(memberId: string, change: { name?: string; passwordHash?: string }): Promise<void>;
}

/** An open session with its member. */
export interface SessionRecord {
  member: MemberRecord;
  org: { orgId: string; name: string; tier: string };
  /** 7 days after it was opened. */
  expiresAt: number;
  confirmedUntil: number;
  /** True before `confirmedUntil` by the database's clock. */
  confirmed: boolean;
  /** True when its last recorded use is at least a minute ago. */
  stale: boolean;
}

export type LinkKind = "sign_in" | "setup" | "invitation";

/** An unused, unexpired link. Set-up links end when the first member has an e-mail address. */
export interface LinkRecord {
  kind: LinkKind;
  /** Null for set-up links. */
  org: { orgId: string; name: string } | null;
  /** Null for set-up links. */
  member: MemberRecord | null;
  /** True when a member in another organisation signs in with the same address. */
  addressTaken: boolean;
  expiresAt: number;
}

/** A member's unused link. A member has at most one. */
export interface PendingLinkRecord {
  member: MemberRecord;
  /** Null for a command or a service token. */
  createdBy: { memberId: string; name: string; email: string | null } | null;
  createdAt: number;
  expiresAt: number;
}

export interface NewLink {
  hash: string;
  lifeMs: number;
  /** The member who makes the link; undefined for a command. */
  by?: string | undefined;
}

/** `not_owner`: the author was removed, or got another role, at the same time. */
export type LinkMade = { kind: "made"; expiresAt: number } | { kind: "not_owner" | "role_changed" };

export type Accepted = "accepted" | "gone" | "address_taken";

/**
 * Sessions and one-time links, found by their secrets' SHA-256 across all organisations: the secret determines which
 * one.
 */
export interface SignInStore {
  /** Requires a password that was entered, or a link that was opened, just before. */
  openSession(session: { hash: string; memberId: string }): Promise<void>;
  session(hash: string): Promise<SessionRecord | undefined>;
  /** Returns those that are still open. */
  validSessions(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /** Records that the session and its member are active. */
  touchSession(hash: string): Promise<void>;
  /** Replaces the secret after the password was entered again. False when the session has ended. */
  rotateSession(session: { hash: string; next: string }): Promise<boolean>;
  closeSession(hash: string): Promise<void>;

  /** Creates a link for a member, only if the member has the role, where one is given. Ends earlier ones. */
  createLink(
    link: NewLink & { kind: "sign_in" | "invitation"; memberId: string; role?: ConsoleRole | undefined },
  ): Promise<LinkMade>;
  /** Creates a member with an invitation. `member_exists`: a member in the organisation has the address. */
  invite(link: NewLink & { member: NewMember }): Promise<LinkMade | { kind: "member_exists" }>;
  /** Newest first. Throws `invalid_request` for a cursor that no page returned. */
  pendingLinks(orgId: string, page: PageAsked): Promise<Page<PendingLinkRecord>>;
  /** Ends the member's link and removes a member who never joined. False when no link is pending. */
  withdrawLink(orgId: string, memberId: string): Promise<boolean>;
  /**
   * Returns when the link expires. Undefined when a member has an e-mail address and, without `replace`, when an unused set-up link
   * exists.
   */
  createSetUpLink(link: { hash: string; lifeMs: number; replace: boolean }): Promise<number | undefined>;
  link(hash: string): Promise<LinkRecord | undefined>;
  /** Marks a link as used. False when it was used before. */
  useLink(hash: string): Promise<boolean>;
  /** Uses an invitation and stores what its member chose, or changes nothing. */
  acceptInvitation(hash: string, chosen: { memberId: string; name: string; passwordHash: string }): Promise<Accepted>;
  /** Uses a set-up link and creates its owner, and the organisation when `org` is set. False when the link was used before. */
  setUp(
    hash: string,
    made: { org?: { orgId: string; name: string; tier: string }; owner: NewMember },
  ): Promise<boolean>;
}

/** Where clients and members reach the service, for the links and commands that tools print. */
export interface ServiceAddress {
  /** The address at the last start of a replica; undefined before the first start. */
  address(): Promise<string | undefined>;
  recordAddress(address: string): Promise<void>;
}

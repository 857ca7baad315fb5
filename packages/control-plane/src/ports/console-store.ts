import type { ConsoleRole } from "@patchbay/protocol/console";
import type { AgentReads, CredentialReads, FunctionReads, LiveReads, RuntimeReads } from "./console-agents.ts";
import type { AnalyticsReads, AuditReads, CreditReads } from "./console-insight.ts";
import type { RunReads, SessionReads, ThreadReads } from "./console-runs.ts";

/** What the console reads and keeps beside everything else. Each method sees one organisation, unless it says otherwise. */
export interface ConsoleStore {
  members: MemberStore;
  signIn: SignInStore;
  organisations: OrganisationReads;
  runs: RunReads;
  threads: ThreadReads;
  sessions: SessionReads;
  analytics: AnalyticsReads;
  audit: AuditReads;
  credits: CreditReads;
  agents: AgentReads;
  credentials: CredentialReads;
  runtimes: RuntimeReads;
  functions: FunctionReads;
  live: LiveReads;
}

export interface MemberRecord {
  memberId: string;
  orgId: string;
  /**
   * Lower case; null for a member who signs in by link only. Unique among the members of an organisation, and among all members
   * who have a password.
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

/** What became of a change that might leave an organisation without an owner. */
export type MemberChanged = "changed" | "last_owner" | "unknown";

/** People who may sign in. Removed members are not there for any of these. */
export interface MemberStore {
  /** False where another member of the organisation has the e-mail address. */
  create(member: NewMember): Promise<boolean>;
  /** Oldest first. Throws `invalid_request` for a cursor that no page gave. */
  list(
    orgId: string,
    page: { limit: number; cursor?: string },
  ): Promise<{ items: MemberRecord[]; nextCursor: string | null }>;
  get(orgId: string, memberId: string): Promise<MemberRecord | undefined>;
  /** In whichever organisation. */
  byId(memberId: string): Promise<MemberRecord | undefined>;
  /** The member of any organisation who signs in with the address; `email` in lower case. */
  byEmail(email: string): Promise<MemberRecord | undefined>;
  /** The member of the organisation without an address, for development. */
  byLinkAlone(orgId: string): Promise<MemberRecord | undefined>;
  /** Ends the member's sessions, and the unused links that the member made. */
  changeRole(orgId: string, memberId: string, role: ConsoleRole): Promise<MemberChanged>;
  /** Ends the member's sessions, and the unused links for the member and by the member. */
  remove(orgId: string, memberId: string): Promise<MemberChanged>;
  /** A new password ends what a removal ends. */
  changeAccount(memberId: string, change: { name?: string; passwordHash?: string }): Promise<void>;
}

/** A session that is neither over its time nor of a removed member, with who it is. */
export interface SessionRecord {
  member: MemberRecord;
  org: { orgId: string; name: string; tier: string };
  /** 7 days after it was opened. */
  expiresAt: number;
  confirmedUntil: number;
  /** True before `confirmedUntil` by the database's clock. */
  confirmed: boolean;
  /** True where it was noted as used a minute ago or longer. */
  stale: boolean;
}

export type LinkKind = "sign_in" | "setup" | "invitation";

/** A link that was neither used nor is over its time. A set-up link is none any more once a member has an e-mail address. */
export interface LinkRecord {
  kind: LinkKind;
  /** The organisation that it leads into; null for setting up. */
  org: { orgId: string; name: string } | null;
  /** Whose it is; null for setting up. */
  member: MemberRecord | null;
  /** Another member signs in with the same address: in another organisation, for within one it is unique. */
  addressTaken: boolean;
  expiresAt: number;
}

/** A member's link that can still be used. A member has one at most. */
export interface PendingLinkRecord {
  member: MemberRecord;
  /** Null where a command made it. */
  createdBy: { memberId: string; name: string; email: string | null } | null;
  createdAt: number;
  expiresAt: number;
}

interface NewLink {
  hash: string;
  lifeMs: number;
  /** The member who makes it; undefined for a command. */
  by?: string | undefined;
}

/** `not_owner`: the author was removed or got another role in the meantime. */
export type LinkMade = { kind: "made"; expiresAt: number } | { kind: "not_owner" };

export type Accepted = "accepted" | "gone" | "address_taken";

/** Sessions and one-time links, by the SHA-256 of their secrets; of all organisations, for they tell which one it is. */
export interface SignInStore {
  /** Opens it with the password just given (or the link just followed). */
  openSession(session: { hash: string; memberId: string }): Promise<void>;
  session(hash: string): Promise<SessionRecord | undefined>;
  /** Which of these sessions are still open. */
  validSessions(hashes: readonly string[]): Promise<ReadonlySet<string>>;
  /** Notes that the session, and so its member, was seen now. */
  touchSession(hash: string): Promise<void>;
  /** Puts a new secret in place of the old one, with the password just given again. False where the session is over. */
  rotateSession(session: { hash: string; next: string }): Promise<boolean>;
  closeSession(hash: string): Promise<void>;

  /** A link for a member, in place of earlier ones. */
  createLink(link: NewLink & { kind: "sign_in" | "invitation"; memberId: string }): Promise<LinkMade>;
  /** A member with a first link, or neither. `member_exists`: one of the organisation has the address. */
  invite(link: NewLink & { member: NewMember }): Promise<LinkMade | { kind: "member_exists" }>;
  /** Newest first. Throws `invalid_request` for a cursor that no page gave. */
  pendingLinks(
    orgId: string,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ items: PendingLinkRecord[]; nextCursor: string | null }>;
  /** Ends the member's link, and removes a member who never joined. False where no link is pending. */
  withdrawLink(orgId: string, memberId: string): Promise<boolean>;
  /**
   * When it ends. Undefined where a member has an e-mail address already and, unless it is to `replace` others, where another
   * one was made and not used.
   */
  createSetUpLink(link: { hash: string; lifeMs: number; replace: boolean }): Promise<number | undefined>;
  link(hash: string): Promise<LinkRecord | undefined>;
  /** Takes a link, once: false for whoever comes second. */
  useLink(hash: string): Promise<boolean>;
  /** Takes an invitation and sets what its member chose, or leaves both as they are. */
  acceptInvitation(hash: string, chosen: { memberId: string; name: string; passwordHash: string }): Promise<Accepted>;
  /** Takes a set-up link and makes its owner, with the organisation where `org` is one to make. False as above. */
  setUp(
    hash: string,
    made: { org?: { orgId: string; name: string; tier: string }; owner: NewMember },
  ): Promise<boolean>;
}

export interface OrganisationReads {
  /** Counts do not count what was deleted. */
  figures(
    orgId: string,
  ): Promise<{ createdAt: number; balanceMicros: number; agents: number; members: number } | undefined>;
}

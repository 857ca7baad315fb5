import { z } from "zod";
import { ConsoleRole, label, pageOf, time } from "./route.ts";

/** The organisation, with its limits and retention. */
export const Organisation = z.object({
  orgId: z.string(),
  name: z.string(),
  tier: z.string(),
  /** Null for tiers without a limit. */
  queriesPerMinute: z.number().nullable(),
  /** False for tiers whose queries cost no credits. */
  charged: z.boolean(),
  balanceUsd: z.number(),
  agents: z.number(),
  members: z.number(),
  createdAt: time,
  /** Days that ended runs and audit entries are kept. */
  retentionDays: z.number(),
  auditDays: z.number(),
  usageDays: z.number(),
});
export type Organisation = z.infer<typeof Organisation>;

/** A new organisation name. */
export const OrganisationChange = z.object({ name: label });

/** The balance, daily spending over the range, and how long the balance lasts at the pace of the last 7 days. */
export const Credits = z.object({
  balanceUsd: z.number(),
  charged: z.boolean(),
  /** Reserved for turns in progress. */
  reservedUsd: z.number(),
  days: z.array(z.object({ day: z.iso.date(), spentUsd: z.number(), grantedUsd: z.number(), balanceUsd: z.number() })),
  /** Null without spending, and for tiers that are not charged. */
  daysLeft: z.number().nullable(),
});
export type Credits = z.infer<typeof Credits>;

/** `grant` adds credit, `reserve` holds it back for a turn, `settle` returns what the turn did not cost, `release` returns all. */
export const LedgerKind = z.enum(["grant", "reserve", "settle", "release"]);

/** One credit movement. */
export const LedgerEntry = z.object({
  id: z.string(),
  at: time,
  kind: LedgerKind,
  /** What it added to the balance; negative for a hold. */
  usd: z.number(),
  runId: z.string().nullable(),
  agentId: z.string().nullable(),
  step: z.number().nullable(),
});
/** One ledger page. */
export const LedgerPage = pageOf(LedgerEntry);
export type LedgerEntry = z.infer<typeof LedgerEntry>;

/** The address that a member signs in with. */
export const MemberEmail = z.email().max(254).toLowerCase();
export const MemberPassword = z.string().min(12, "must have 12 characters at least").max(200);

/** The signed-in member. */
export const Session = z.object({
  member: z.object({
    memberId: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    role: ConsoleRole,
    /** False for members who sign in by link only. */
    hasPassword: z.boolean(),
  }),
  organisation: z.object({ orgId: z.string(), name: z.string(), tier: z.string() }),
  /** Session end. It also ends after 12 hours without a request. */
  expiresAt: time,
  /** Until then, routes that need a confirmation do not require the password again. */
  confirmedUntil: time,
  version: z.string(),
  /** Base address that snippets show. */
  baseUrl: z.string(),
  /** True where the local development variant is served. */
  local: z.boolean(),
  /**
   * The option with which the operator's commands find this database. The value is null where it may contain a password: the
   * operator has it in PATCHBAY_DATABASE. Null for a database in memory, which no command reaches.
   */
  databaseOption: z.object({ name: z.enum(["--data-dir", "--database"]), value: z.string().nullable() }).nullable(),
});
export type Session = z.infer<typeof Session>;

/** How members sign in. */
export const SignInWays = z.object({
  /** True for `patchbay dev`, whose owner signs in by link. */
  local: z.boolean(),
});

/** E-mail address and password. */
export const SignIn = z.object({ email: MemberEmail, password: z.string().min(1).max(200) });
/** The password, entered again. */
export const Confirmation = z.object({ password: z.string().min(1).max(200) });
/** The link's secret: the part after `#`. */
export const LinkSecret = z.object({ link: z.string().min(1).max(200) });

/** A link's purpose. `sign_in` opens a session directly; the others need an `AcceptLink`. */
export const LinkOffer = z.object({
  kind: z.enum(["sign_in", "setup", "invitation"]),
  /** The invited member's address. */
  email: z.string().nullable(),
  /** The organisation's name; null when set-up creates one. */
  organisation: z.string().nullable(),
  expiresAt: time,
});
export type LinkOffer = z.infer<typeof LinkOffer>;

/** An account for a person who follows a set-up link or an invitation. `email` and `organisation` are for set-up only. */
export const AcceptLink = LinkSecret.extend({
  name: label,
  password: MemberPassword,
  email: MemberEmail.optional(),
  organisation: label.optional(),
});

/** A change to the member's own account. A new password requires the current one. */
export const OwnAccount = z.object({
  name: label.optional(),
  password: z.object({ current: z.string().min(1).max(200), next: MemberPassword }).optional(),
});

/** A person who may sign in. */
export const Member = z.object({
  memberId: z.string(),
  name: z.string(),
  email: z.string().nullable(),
  role: ConsoleRole,
  /** False until an invitation is accepted. */
  active: z.boolean(),
  createdAt: time,
  lastSeenAt: time.nullable(),
});
export type Member = z.infer<typeof Member>;

/** A member to invite. */
export const NewMember = z.object({ email: MemberEmail, name: label.optional(), role: ConsoleRole });
/** A member's new role. */
export const MemberChange = z.object({ role: ConsoleRole });
/** A member with a one-time link, to join or to set a new password. The link is never shown again. */
export const Invitation = z.object({ member: Member, link: z.string(), expiresAt: time });
export type Invitation = z.infer<typeof Invitation>;

/** A member's unused one-time link. A member has at most one. Its secret is never shown again. */
export const PendingLink = z.object({
  member: Member,
  /** The owner who created it; null for a command on the server or a service token. */
  createdBy: z.object({ memberId: z.string(), name: z.string(), email: z.string().nullable() }).nullable(),
  createdAt: time,
  expiresAt: time,
});
export type PendingLink = z.infer<typeof PendingLink>;
/** One page with unused links. */
export const PendingLinkPage = pageOf(PendingLink);

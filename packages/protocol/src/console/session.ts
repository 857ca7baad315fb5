import { z } from "zod";
import { label, pageOf, time } from "./paging.ts";

/**
 * What a member may do: a viewer reads, a developer also manages agents, keys and runs queries, an owner also manages members and
 * the organisation.
 */
export const CONSOLE_ROLES = ["viewer", "developer", "owner"] as const;
export const ConsoleRole = z.enum(CONSOLE_ROLES);
export type ConsoleRole = z.infer<typeof ConsoleRole>;

const email = z.email().max(254).toLowerCase();
const password = z.string().min(12, "must have 12 characters at least").max(200);

/** Who is signed in. */
export const Session = z.object({
  member: z.object({
    memberId: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    role: ConsoleRole,
    /** False for whoever signs in by link alone. */
    hasPassword: z.boolean(),
  }),
  organisation: z.object({ orgId: z.string(), name: z.string(), tier: z.string() }),
  /** When the session ends at the latest; it also ends after 12 hours without a request. */
  expiresAt: time,
  /** Until then, what asks for confirmation is done without asking for the password again. */
  confirmedUntil: time,
  version: z.string(),
  /** Base address that snippets show. */
  baseUrl: z.string(),
  /** True where the local development variant is served. */
  local: z.boolean(),
});
export type Session = z.infer<typeof Session>;

export const SignIn = z.object({ email, password: z.string().min(1).max(200) });
export const Confirmation = z.object({ password: z.string().min(1).max(200) });
/** The secret part of a link: what stands behind the `#`. */
export const LinkSecret = z.object({ link: z.string().min(1).max(200) });

/** What a link is for. `sign_in` opens a session at once; the others first ask for what `AcceptLink` takes. */
export const LinkOffer = z.object({
  kind: z.enum(["sign_in", "setup", "invitation"]),
  /** Whom an invitation is for. */
  email: z.string().nullable(),
  /** The organisation that the link leads into; null where setting up makes one. */
  organisation: z.string().nullable(),
  expiresAt: time,
});
export type LinkOffer = z.infer<typeof LinkOffer>;

/** What a person sets on following a set-up link or an invitation. `email` and `organisation` are for set-up alone. */
export const AcceptLink = LinkSecret.extend({
  name: label,
  password,
  email: email.optional(),
  organisation: label.optional(),
});

/** A change of one's own account; a new password needs the present one. */
export const OwnAccount = z.object({
  name: label.optional(),
  password: z.object({ present: z.string().min(1).max(200), next: password }).optional(),
});

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

export const NewMember = z.object({ email, name: label.optional(), role: ConsoleRole });
export const MemberChange = z.object({ role: ConsoleRole });
/** A member with a one-time link to join, or to set another password; it is shown once. */
export const Invitation = z.object({ member: Member, link: z.string(), expiresAt: time });
export type Invitation = z.infer<typeof Invitation>;

/** A member's one-time link that can still be used. A member has one at most; its secret is shown only where it is made. */
export const PendingLink = z.object({
  member: Member,
  /** The owner who made it; null where a command on the server did. */
  createdBy: z.object({ memberId: z.string(), name: z.string(), email: z.string().nullable() }).nullable(),
  createdAt: time,
  expiresAt: time,
});
export type PendingLink = z.infer<typeof PendingLink>;
export const PendingLinkPage = pageOf(PendingLink);

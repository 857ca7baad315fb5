import * as organisation from "./organisation.ts";
import { type ConsoleRoute, pageOf, paging, range, readBy } from "./route.ts";

const nothing = "nothing";

/** Requests before there is a session. */
const signingIn = { idempotency: "none", needs: "public" } as const;

/** Changes to members, with the password entered again. */
const managed = { needs: "owner", scopes: [["members:write"]], confirmed: true } as const;

/** Routes for the organisation, its members, their sessions and its credits. */
export const MEMBER_ROUTES = {
  "POST /session": {
    ...signingIn,
    summary: "Sign in with a password",
    body: organisation.SignIn,
    answer: organisation.Session,
  },
  "GET /sign-in": { needs: "public", summary: "Read how members sign in", answer: organisation.SignInWays },
  "GET /session": { needs: "viewer", summary: "Read the session", answer: organisation.Session },
  "DELETE /session": { needs: "viewer", summary: "Sign out", answer: nothing },
  "POST /session/confirm": {
    idempotency: "none",
    needs: "viewer",
    summary: "Confirm the password",
    body: organisation.Confirmation,
    answer: organisation.Session,
  },
  "POST /links": {
    ...signingIn,
    summary: "Read a one-time link",
    body: organisation.LinkSecret,
    answer: organisation.LinkOffer,
  },
  "POST /links/open": {
    ...signingIn,
    summary: "Sign in by a one-time link",
    body: organisation.LinkSecret,
    answer: organisation.Session,
  },
  "POST /links/accept": {
    ...signingIn,
    summary: "Set up the service, or accept an invitation",
    body: organisation.AcceptLink,
    answer: organisation.Session,
  },
  "PATCH /account": {
    needs: "viewer",
    summary: "Change the own account",
    body: organisation.OwnAccount,
    answer: organisation.Session,
  },

  "GET /organisation": {
    needs: "viewer",
    scopes: [["credits:read"]],
    summary: "Read the organisation",
    answer: organisation.Organisation,
  },
  "PATCH /organisation": {
    needs: "owner",
    // The answer has the balance.
    scopes: [["members:write", "credits:read"]],
    summary: "Rename the organisation",
    body: organisation.OrganisationChange,
    answer: organisation.Organisation,
  },
  "GET /members": readBy("members:read", "List members", paging, pageOf(organisation.Member)),
  "POST /members": {
    ...managed,
    status: 201,
    summary: "Invite a member",
    body: organisation.NewMember,
    answer: organisation.Invitation,
  },
  "PATCH /members/:member_id": {
    ...managed,
    summary: "Change a member's role",
    body: organisation.MemberChange,
    answer: organisation.Member,
  },
  "POST /members/:member_id/link": {
    ...managed,
    summary: "Create a link for a member, to join or to set a new password",
    answer: organisation.Invitation,
  },
  "DELETE /members/:member_id/link": {
    ...managed,
    summary: "Withdraw a member's link; an invited member who never joined is removed",
    answer: nothing,
  },
  "GET /links": readBy("members:read", "List unused links, newest first", paging, organisation.PendingLinkPage),
  "DELETE /members/:member_id": {
    ...managed,
    summary: "Remove a member",
    answer: nothing,
  },
  "GET /credits": readBy("credits:read", "Balance and spending", range, organisation.Credits),
  "GET /credits/ledger": readBy(
    "credits:read",
    "The ledger, newest first",
    { ...paging, kind: organisation.LedgerKind.optional() },
    organisation.LedgerPage,
  ),
} as const satisfies Record<string, ConsoleRoute>;

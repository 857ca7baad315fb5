import { z } from "zod";
import * as organisation from "./organisation.ts";
import { paging } from "./paging.ts";
import type { ConsoleRoute } from "./route.ts";
import * as session from "./session.ts";

const nothing = "nothing";

/** Routes of the organisation and of who may sign in to it. */
export const MEMBER_ROUTES = {
  "POST /session": {
    needs: "nobody",
    summary: "Sign in with a password",
    body: session.SignIn,
    answer: session.Session,
  },
  "GET /session": { needs: "viewer", summary: "Who is signed in", answer: session.Session },
  "DELETE /session": { needs: "viewer", summary: "Sign out", answer: nothing },
  "POST /session/confirm": {
    needs: "viewer",
    summary: "Give the password again",
    body: session.Confirmation,
    answer: session.Session,
  },
  "POST /links": {
    needs: "nobody",
    summary: "What a one-time link is for",
    body: session.LinkSecret,
    answer: session.LinkOffer,
  },
  "POST /links/open": {
    needs: "nobody",
    summary: "Sign in by a one-time link",
    body: session.LinkSecret,
    answer: session.Session,
  },
  "POST /links/accept": {
    needs: "nobody",
    summary: "Set up the service, or accept an invitation",
    body: session.AcceptLink,
    answer: session.Session,
  },
  "PATCH /account": {
    needs: "viewer",
    summary: "Change one's own account",
    body: session.OwnAccount,
    answer: session.Session,
  },

  "GET /organisation": { needs: "viewer", summary: "The organisation", answer: organisation.Organisation },
  "PATCH /organisation": {
    needs: "owner",
    summary: "Rename the organisation",
    body: organisation.OrganisationChange,
    answer: organisation.Organisation,
  },
  "GET /members": {
    needs: "viewer",
    summary: "Its members",
    query: z.object(paging),
    answer: z.object({ items: z.array(session.Member), nextCursor: z.string().nullable() }),
  },
  "POST /members": {
    needs: "owner",
    confirmed: true,
    status: 201,
    summary: "Invite a member",
    body: session.NewMember,
    answer: session.Invitation,
  },
  "PATCH /members/:member_id": {
    needs: "owner",
    confirmed: true,
    summary: "Change a member's role",
    body: session.MemberChange,
    answer: session.Member,
  },
  "POST /members/:member_id/link": {
    needs: "owner",
    confirmed: true,
    summary: "A new link for a member, to join or to set another password",
    answer: session.Invitation,
  },
  "DELETE /members/:member_id/link": {
    needs: "owner",
    confirmed: true,
    summary: "Withdraw a member's link; an invited member who never joined is removed",
    answer: nothing,
  },
  "GET /links": {
    needs: "viewer",
    summary: "Links that can still be used, newest first",
    query: z.object(paging),
    answer: session.PendingLinkPage,
  },
  "DELETE /members/:member_id": { needs: "owner", confirmed: true, summary: "Remove a member", answer: nothing },
} as const satisfies Record<string, ConsoleRoute>;

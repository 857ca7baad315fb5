import type { Invitation, Member } from "@patchbay/protocol/console";
import type { InvitedMember, ListedMember } from "../../accounts/members.ts";
import type { Exchange } from "../../http/deps.ts";
import { ServiceError } from "../../ports/service-error.ts";
import { notFound } from "../console-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf, SignedIn } from "../handler.ts";
import { paged } from "../page-size.ts";
import type { SignIn } from "../sign-in/sign-in.ts";
import { baseUrlOf } from "./session.ts";

type MemberRoutes =
  | "GET /members"
  | "POST /members"
  | "PATCH /members/:member_id"
  | "POST /members/:member_id/link"
  | "DELETE /members/:member_id/link"
  | "GET /links"
  | "DELETE /members/:member_id";

export function memberHandlers(deps: ConsoleDeps, { sessions }: SignIn): HandlersOf<MemberRoutes> {
  const { members, signIn } = deps.store.console;

  async function requireMember(orgId: string, memberId: string): Promise<void> {
    if (!(await members.get(orgId, memberId))) throw notFound("member");
  }

  /** A password that was changed while the link was made ended this session, and the link's secret is not shown. */
  async function invitation(exchange: Exchange, by: SignedIn, invited: InvitedMember): Promise<Invitation> {
    if (!(await signIn.session(by.sessionId)))
      throw new ServiceError("authentication_failed", "Sign in: the session ended while the link was made.");
    const { member, path, expiresAt } = invited;
    return { member: shown(member), link: baseUrlOf(exchange, deps) + path, expiresAt };
  }

  return {
    async "GET /members"({ by, query }) {
      const { limit = 50, cursor } = query;
      const page = await deps.adminOf(by.memberId).members.list(by.orgId, { limit, ...(cursor && { cursor }) });
      return { ...page, items: page.items.map(shown) };
    },

    async "POST /members"({ by, body, exchange }) {
      const { email, name, role } = body;
      const wanted = { orgId: by.orgId, email, role, ...(name !== undefined && { name }) };
      return invitation(exchange, by, await deps.adminOf(by.memberId).members.invite(wanted));
    },

    async "PATCH /members/:member_id"({ by, params, body, exchange }) {
      await requireMember(by.orgId, params.member_id);
      const changed = await deps.adminOf(by.memberId).members.changeRole(by.orgId, params.member_id, body.role);
      // Another role needs another session; one's own is opened anew.
      if (params.member_id === by.memberId && body.role !== by.role) await sessions.open(exchange, by);
      return shown(changed);
    },

    async "POST /members/:member_id/link"({ by, params, exchange }) {
      await requireMember(by.orgId, params.member_id);
      return invitation(exchange, by, await deps.adminOf(by.memberId).members.link(by.orgId, params.member_id));
    },

    async "DELETE /members/:member_id/link"({ by, params }) {
      await requireMember(by.orgId, params.member_id);
      await deps.adminOf(by.memberId).members.withdrawLink(by.orgId, params.member_id);
    },

    async "GET /links"({ by, query }) {
      const page = await deps.adminOf(by.memberId).members.pendingLinks(by.orgId, paged(query));
      return { ...page, items: page.items.map((link) => ({ ...link, member: shown(link.member) })) };
    },

    async "DELETE /members/:member_id"({ by, params }) {
      await requireMember(by.orgId, params.member_id);
      await deps.adminOf(by.memberId).members.remove(by.orgId, params.member_id);
    },
  };
}

function shown({ orgId: _orgId, ...member }: ListedMember): Member {
  return member;
}

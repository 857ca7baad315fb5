import type { Invitation, Member, Organisation } from "@patchbay/protocol/console";
import { usdOf } from "../../accounts/admin-accounts.ts";
import { tierNamed } from "../../accounts/limits.ts";
import type { InvitedMember, ListedMember } from "../../accounts/members.ts";
import type { Exchange } from "../../http/kernel/exchange.ts";
import { ServiceError } from "../../ports/service-error.ts";
import { baseUrlOf, type SignIn } from "../account/routes.ts";
import { type ConsoleDeps, found, type HandlersOf, paged, type SignedIn, notFound } from "../handler.ts";

type MemberRoutes =
  | "GET /organisation"
  | "PATCH /organisation"
  | "GET /members"
  | "POST /members"
  | "PATCH /members/:member_id"
  | "POST /members/:member_id/link"
  | "DELETE /members/:member_id/link"
  | "GET /links"
  | "DELETE /members/:member_id";

/** The organisation and its members. */
export function memberRoutes(deps: ConsoleDeps, { sessions }: SignIn): HandlersOf<MemberRoutes> {
  const { store, adminOf } = deps;

  async function requireMember(orgId: string, memberId: string): Promise<void> {
    if (!(await store.members.get(orgId, memberId))) throw notFound("member");
  }

  /** A password change at the same time ends this session. Its browser then must not receive the link's secret. */
  async function invitation(exchange: Exchange, by: SignedIn, invited: InvitedMember): Promise<Invitation> {
    if (!(await store.signIn.session(by.sessionId)))
      throw new ServiceError("authentication_failed", "Sign in: the session ended while the link was made.");
    const { member, path, expiresAt } = invited;
    return { member: shown(member), link: baseUrlOf(exchange, deps) + path, expiresAt };
  }

  return {
    "GET /organisation": ({ by }) => organisationOf(deps, by.orgId),

    async "PATCH /organisation"({ by, body }) {
      await adminOf(by.memberId).renameOrg(by.orgId, body.name);
      return organisationOf(deps, by.orgId);
    },

    async "GET /members"({ by, query }) {
      const { limit = 50, cursor } = query;
      const page = await adminOf(by.memberId).members.list(by.orgId, { limit, ...(cursor && { cursor }) });
      return { ...page, items: page.items.map(shown) };
    },

    async "POST /members"({ by, body, exchange }) {
      const { email, name, role } = body;
      const wanted = { orgId: by.orgId, email, role, ...(name !== undefined && { name }) };
      return invitation(exchange, by, await adminOf(by.memberId).members.invite(wanted));
    },

    async "PATCH /members/:member_id"({ by, params, body, exchange }) {
      await requireMember(by.orgId, params.member_id);
      const changed = await adminOf(by.memberId).members.changeRole(by.orgId, params.member_id, body.role);
      // A role change ends the member's sessions. Members who change their own role stay signed in.
      if (params.member_id === by.memberId && body.role !== by.role) await sessions.open(exchange, by);
      return shown(changed);
    },

    async "POST /members/:member_id/link"({ by, params, exchange }) {
      await requireMember(by.orgId, params.member_id);
      return invitation(exchange, by, await adminOf(by.memberId).members.link(by.orgId, params.member_id));
    },

    async "DELETE /members/:member_id/link"({ by, params }) {
      await requireMember(by.orgId, params.member_id);
      await adminOf(by.memberId).members.withdrawLink(by.orgId, params.member_id);
    },

    async "GET /links"({ by, query }) {
      const page = await adminOf(by.memberId).members.pendingLinks(by.orgId, paged(query));
      return { ...page, items: page.items.map((link) => ({ ...link, member: shown(link.member) })) };
    },

    async "DELETE /members/:member_id"({ by, params }) {
      await requireMember(by.orgId, params.member_id);
      await adminOf(by.memberId).members.remove(by.orgId, params.member_id);
    },
  };
}

async function organisationOf({ store, queries, ...deps }: ConsoleDeps, orgId: string): Promise<Organisation> {
  const [known, figures] = await Promise.all([store.accounts.getOrg(orgId), queries.organisations.figures(orgId)]);
  const org = found(known, "organisation");
  const { createdAt, balanceMicros, agents, members } = found(figures, "organisation");
  return {
    ...org,
    ...tierNamed(deps.tiers, org.tier),
    balanceUsd: usdOf(balanceMicros),
    agents,
    members,
    createdAt: new Date(createdAt).toISOString(),
    retentionDays: deps.retentionDays,
    auditDays: deps.auditDays,
    usageDays: deps.usageDays,
  };
}

function shown({ orgId: _orgId, ...member }: ListedMember): Member {
  return member;
}

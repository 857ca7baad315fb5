import { isoTime, present } from "@patchbay/kit";
import type { ConsoleRole, Invitation, Member, Organisation } from "@patchbay/protocol/console";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import { tierNamed } from "@patchbay/server/accounts/limits";
import type { InvitedMember, ListedMember } from "@patchbay/server/accounts/members";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { type Actor, requireScopes, scopesOfRole } from "../actors.ts";
import { baseUrlOf, type SignIn } from "../account/routes.ts";
import { type ConsoleDeps, found, type Handlers, paged } from "../handler.ts";

type MemberDeps = Pick<
  ConsoleDeps,
  "store" | "queries" | "adminOf" | "tiers" | "retentionDays" | "auditDays" | "usageDays" | "publicUrl" | "trustProxy"
>;

/** The organisation and its members. */
export function memberRoutes(deps: MemberDeps, { sessions }: SignIn) {
  const { store, adminOf } = deps;

  /**
   * Checks that the member exists, and that a service token has the scopes of its role: with a link, the token could
   * otherwise sign in and exceed its scopes.
   */
  async function requireMember(by: Actor, memberId: string): Promise<ConsoleRole> {
    const { role } = found(await store.members.get(by.orgId, memberId), "member");
    requireScopes(by, scopesOfRole(role));
    return role;
  }

  /** After a simultaneous password change, the signed-out browser must not receive the link's secret. */
  async function invitation(exchange: Exchange, by: Actor, invited: InvitedMember): Promise<Invitation> {
    if ("sessionId" in by && !(await store.signIn.session(by.sessionId)))
      throw new ServiceError("authentication_failed", "Sign in: the session ended while the link was made.");
    const { member, path, expiresAt } = invited;
    return { member: shown(member), link: baseUrlOf(exchange, deps) + path, expiresAt };
  }

  return {
    "GET /organisation": ({ by }) => organisationOf(deps, by.orgId),

    async "PATCH /organisation"({ by, body }) {
      await adminOf(by.actorId).renameOrg(by.orgId, body.name);
      return organisationOf(deps, by.orgId);
    },

    async "GET /members"({ by, query }) {
      const page = await adminOf(by.actorId).members.list(by.orgId, present(paged(query)));
      return { ...page, items: page.items.map(shown) };
    },

    async "POST /members"({ by, body, exchange }) {
      const { email, name, role } = body;
      requireScopes(by, scopesOfRole(role));
      const wanted = { orgId: by.orgId, email, role, ...present({ name }) };
      return invitation(exchange, by, await adminOf(by.actorId).members.invite(wanted));
    },

    async "PATCH /members/:member_id"({ by, params, body, exchange }) {
      await requireMember(by, params.member_id);
      requireScopes(by, scopesOfRole(body.role));
      const changed = await adminOf(by.actorId).members.changeRole(by.orgId, params.member_id, body.role);
      // A role change ends the member's sessions. Members who change their own role stay signed in.
      if ("sessionId" in by && params.member_id === by.memberId && body.role !== by.role)
        await sessions.open(exchange, by);
      return shown(changed);
    },

    async "POST /members/:member_id/link"({ by, params, exchange }) {
      const role = await requireMember(by, params.member_id);
      return invitation(exchange, by, await adminOf(by.actorId).members.link(by.orgId, params.member_id, role));
    },

    async "DELETE /members/:member_id/link"({ by, params }) {
      await requireMember(by, params.member_id);
      await adminOf(by.actorId).members.withdrawLink(by.orgId, params.member_id);
    },

    async "GET /links"({ by, query }) {
      const page = await adminOf(by.actorId).members.pendingLinks(by.orgId, paged(query));
      return { ...page, items: page.items.map((link) => ({ ...link, member: shown(link.member) })) };
    },

    async "DELETE /members/:member_id"({ by, params }) {
      await requireMember(by, params.member_id);
      await adminOf(by.actorId).members.remove(by.orgId, params.member_id);
    },
  } satisfies Handlers;
}

async function organisationOf({ store, queries, tiers, ...deps }: MemberDeps, orgId: string): Promise<Organisation> {
  const [known, figures] = await Promise.all([store.accounts.getOrg(orgId), queries.organisations.figures(orgId)]);
  const org = found(known, "organisation");
  const { createdAt, balanceMicros, agents, members } = found(figures, "organisation");
  return {
    ...org,
    ...tierNamed(tiers, org.tier),
    balanceUsd: usdOf(balanceMicros),
    agents,
    members,
    createdAt: isoTime(createdAt),
    retentionDays: deps.retentionDays,
    auditDays: deps.auditDays,
    usageDays: deps.usageDays,
  };
}

function shown({ orgId: _orgId, ...member }: ListedMember): Member {
  return member;
}

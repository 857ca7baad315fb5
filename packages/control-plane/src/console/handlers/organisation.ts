import type { Organisation } from "@patchbay/protocol/console";
import { tierNamed } from "../../accounts/tiers.ts";
import { usdOf } from "../../accounts/usd.ts";
import { notFound } from "../console-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";

export function organisationHandlers(deps: ConsoleDeps): HandlersOf<"GET /organisation" | "PATCH /organisation"> {
  const { accounts, console } = deps.store;

  async function organisation(orgId: string): Promise<Organisation> {
    const [org, figures] = await Promise.all([accounts.getOrg(orgId), console.organisations.figures(orgId)]);
    if (!org || !figures) throw notFound("organisation");
    const { createdAt, balanceMicros, agents, members } = figures;
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

  return {
    "GET /organisation": ({ by }) => organisation(by.orgId),
    async "PATCH /organisation"({ by, body }) {
      await deps.adminOf(by.memberId).renameOrg(by.orgId, body.name);
      return organisation(by.orgId);
    },
  };
}

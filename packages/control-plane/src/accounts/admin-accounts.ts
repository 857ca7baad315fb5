import type { AgentSettingsChange } from "@patchbay/protocol";
import type { ModelPrices } from "../models/price-file.ts";
import type { Agent, AgentChange, Org, Store } from "../ports/stores.ts";
import { AdminError, found } from "./admin-error.ts";
import { parseSettingsChange, requirePrices, settingsChanges } from "./agent-settings.ts";
import type { Credentials } from "./credentials.ts";
import { randomBase62 } from "./secret.ts";
import { tierNamed, type Tiers } from "./tiers.ts";
import { parseUsd, usdOf } from "./usd.ts";

export interface CreatedAgent {
  agentId: string;
  name: string;
  orgId: string;
  keyId: string;
  /** Shown this once. */
  apiKey: string;
}

export interface OrgCredits {
  orgId: string;
  balanceUsd: number;
}

/** Organisations, agents and credits. */
export interface AccountAdmin {
  /** Default tier: `sandbox`. */
  createOrg(name: string, tier?: string): Promise<Org>;
  listOrgs(): Promise<Org[]>;
  /** The organisation of this id; without one the only organisation, and where there is none, a sandbox one is made. */
  orgFor(orgId?: string): Promise<string>;
  renameOrg(orgId: string, name: string): Promise<Org>;
  /** With an API key. Without an `orgId` it goes to the only organisation; where there is none, a sandbox one is made. */
  createAgent(name: string, options?: { orgId?: string; instructions?: string }): Promise<CreatedAgent>;
  listAgents(orgId?: string): Promise<Agent[]>;
  /** Throws `AdminError` for settings that cannot be, and for models without a price where the organisation pays. */
  updateAgent(agentId: string, change: AgentChange): Promise<Agent>;
  /** Its keys and tokens open nothing any more. */
  deleteAgent(agentId: string): Promise<{ agentId: string }>;
  /** `usd` is a decimal amount as text, so that no digit is lost. */
  grant(orgId: string, usd: string): Promise<OrgCredits>;
  showCredits(orgId: string): Promise<OrgCredits>;
}

export function accountAdmin(
  { accounts, audit }: Store,
  {
    tiers,
    credentials,
    by,
    prices,
  }: { tiers: Tiers; credentials: Credentials; by: string | undefined; prices: ModelPrices | undefined },
): AccountAdmin {
  const who = by === undefined ? {} : { keyId: by };

  async function createOrg(name: string, tier = "sandbox"): Promise<Org> {
    if (!Object.hasOwn(tiers, tier))
      throw new AdminError(`There is no tier ${tier}: choose one of ${Object.keys(tiers).join(", ")}.`);
    const org = { orgId: `org_${randomBase62(22)}`, name: named(name), tier };
    await accounts.createOrg(org);
    await audit.record([{ orgId: org.orgId, action: "org.created", detail: { tier }, ...who }]);
    return org;
  }

  async function orgFor(orgId?: string): Promise<string> {
    if (orgId !== undefined) return (await orgOf(orgId)).orgId;
    const [first, ...others] = await accounts.listOrgs();
    if (others.length > 0) throw new AdminError("There are several organisations: name one with --org ID.");
    return (first ?? (await createOrg("default"))).orgId;
  }

  async function orgOf(orgId: string): Promise<Org> {
    return found(await accounts.getOrg(orgId), "organisation", orgId, "orgs list");
  }

  async function agentOf(agentId: string): Promise<Agent> {
    return found(await accounts.getAgent(agentId), "agent", agentId, "agents list");
  }

  async function usable(agentId: string, settings: AgentSettingsChange): Promise<AgentSettingsChange> {
    const change = parseSettingsChange(settings);
    const { orgId } = await agentOf(agentId);
    if (tierNamed(tiers, (await orgOf(orgId)).tier).charged) requirePrices(change, prices);
    return change;
  }

  async function creditsOf(orgId: string): Promise<OrgCredits> {
    return { orgId, balanceUsd: usdOf(await accounts.balance(orgId)) };
  }

  return {
    createOrg,
    listOrgs: () => accounts.listOrgs(),
    orgFor,

    async renameOrg(orgId, name) {
      const org = { ...(await orgOf(orgId)), name: named(name) };
      await accounts.renameOrg(orgId, org.name);
      await audit.record([{ orgId, action: "org.renamed", ...who }]);
      return org;
    },

    async createAgent(name, { orgId, instructions = "" } = {}) {
      const agent = { agentId: `agt_${randomBase62(22)}`, name: named(name), orgId: await orgFor(orgId) };
      await accounts.createAgent({ ...agent, instructions });
      await audit.record([{ orgId: agent.orgId, agentId: agent.agentId, action: "agent.created", ...who }]);
      const key = await credentials.create("api", { agentId: agent.agentId });
      return { ...agent, keyId: key.credentialId, apiKey: key.secret };
    },

    listAgents: (orgId) => accounts.listAgents(orgId),

    async updateAgent(agentId, { name, settings, ...others }) {
      const change: AgentChange = { ...(name !== undefined && { name: named(name) }), ...others };
      if (settings !== undefined) change.settings = await usable(agentId, settings);
      const updated = await accounts.updateAgent(agentId, change);
      const { before, after } = found(updated, "agent", agentId, "agents list");
      const changes = settingsChanges(before.settings, after.settings);
      const detail = {
        changed: Object.keys(change),
        ...accessChangesIn(change),
        ...(changes && { settings: changes }),
      };
      await audit.record([{ orgId: after.orgId, agentId, action: "agent.updated", detail, ...who }]);
      return after;
    },

    async deleteAgent(agentId) {
      const { orgId } = await agentOf(agentId);
      await accounts.deleteAgent(agentId);
      await audit.record([{ orgId, agentId, action: "agent.deleted", ...who }]);
      return { agentId };
    },

    async grant(orgId, usd) {
      const micros = parseUsd(usd);
      await orgOf(orgId);
      await accounts.grant(orgId, micros);
      await audit.record([{ orgId, action: "credits.granted", detail: { micros }, ...who }]);
      return creditsOf(orgId);
    },

    async showCredits(orgId) {
      await orgOf(orgId);
      return creditsOf(orgId);
    },
  };
}

/** Whether wider function sets are used unasked is worth an entry with its value. */
function accessChangesIn({ accessChanges }: AgentChange): Pick<AgentChange, "accessChanges"> {
  return accessChanges === undefined ? {} : { accessChanges };
}

function named(name: string): string {
  const trimmed = name.trim();
  if (trimmed === "") throw new AdminError("A name must not be empty.");
  return trimmed;
}

import { type AgentSettings, AgentSettingsChange, type Fault } from "@patchbay/protocol";
import { PROVIDERS } from "@patchbay/protocol/providers";
import { type JsonObject, type JsonValue, present } from "@patchbay/kit";
import { createPrices, type ModelPrices } from "@patchbay/models/prices";
import { type ModelCatalog, whyMissing } from "@patchbay/engine/ports/model-provider";
import type { Agent, AgentChange, Store } from "@patchbay/engine/ports/store/stores";
import { type AccountContext, type AccountAdmin, requireName } from "./admin-accounts.ts";
import { AdminError, agentOf, found, orgOf } from "./admin-error.ts";
import type { Credentials } from "./credentials.ts";
import { tierNamed } from "./limits.ts";
import { randomBase62 } from "./secret.ts";

/** A new agent with its first API key. */
export interface CreatedAgent {
  agentId: string;
  name: string;
  orgId: string;
  keyId: string;
  /** The secret, which cannot be shown again. */
  apiKey: string;
}

/** Manages agents. */
export interface AgentAdmin {
  /** Creates an agent with an API key. Without an `orgId`, uses the organisation from `orgFor`. */
  createAgent(name: string, options?: { orgId?: string; instructions?: string }): Promise<CreatedAgent>;
  listAgents(orgId?: string): Promise<Agent[]>;
  /** Throws `AdminError` for invalid settings, for endpoints and models that the organisation does not have, and for models without a price if it pays. */
  updateAgent(agentId: string, change: AgentChange): Promise<Agent>;
  /** Deletes the agent. Its keys and tokens stop working. */
  deleteAgent(agentId: string): Promise<{ agentId: string }>;
}

interface AgentContext extends AccountContext, Pick<AccountAdmin, "orgFor"> {
  credentials: Credentials;
  prices: ModelPrices | undefined;
  models: ModelCatalog | undefined;
}

export function agentAdmin({ accounts, audit }: Store, context: AgentContext): AgentAdmin {
  const { tiers, author, agentChanged, orgFor, credentials } = context;
  async function checked(agentId: string, settings: AgentSettingsChange): Promise<AgentSettingsChange> {
    const change = parseSettingsChange(settings);
    const agent = await agentOf(accounts, agentId);
    const org = await orgOf(accounts, agent.orgId);
    requireModels(change, agent, { ...context, pays: tierNamed(tiers, org.tier).charged });
    return change;
  }

  return {
    async createAgent(name, { orgId, instructions = "" } = {}) {
      const agent = { agentId: `agt_${randomBase62(22)}`, name: requireName(name), orgId: await orgFor(orgId) };
      await accounts.createAgent({ ...agent, instructions });
      await audit.record([{ orgId: agent.orgId, agentId: agent.agentId, action: "agent.created", ...author }]);
      const key = await credentials.create("api", { agentId: agent.agentId });
      return { ...agent, keyId: key.credentialId, apiKey: key.secret };
    },

    listAgents: (orgId) => accounts.listAgents(orgId),

    async updateAgent(agentId, { name, settings, ...others }) {
      const change: AgentChange = { ...(name !== undefined && { name: requireName(name) }), ...others };
      if (settings !== undefined) change.settings = await checked(agentId, settings);
      const updated = await accounts.updateAgent(agentId, change);
      const { before, after } = found(updated, "agent", agentId, "agents list");
      agentChanged?.(agentId);
      const changes = settingsChanges(before.settings, after.settings);
      const { accessChanges } = change;
      const detail = { changed: Object.keys(change), ...present({ accessChanges, settings: changes }) };
      await audit.record([{ orgId: after.orgId, agentId, action: "agent.updated", detail, ...author }]);
      return after;
    },

    async deleteAgent(agentId) {
      const { orgId } = await agentOf(accounts, agentId);
      await accounts.deleteAgent(agentId);
      await audit.record([{ orgId, agentId, action: "agent.deleted", ...author }]);
      return { agentId };
    },
  };
}

/** Checks changed settings. Throws `AdminError` with every fault. */
function parseSettingsChange(change: unknown): AgentSettingsChange {
  const { success, data, error } = AgentSettingsChange.safeParse(change);
  if (success) return data;
  const pathOf = (path: readonly PropertyKey[]): string => ["settings", ...path].map(String).join(".");
  const faults = error.issues.map(({ path, message }) => ({ path: pathOf(path), message }));
  throw new AdminError(`These settings cannot be stored. ${faults.map(sentence).join(" ")}`, "value", faults);
}

/** Throws `AdminError` for endpoints and models that the organisation does not have, and, if it pays, for models without a price. */
function requireModels(
  change: AgentSettingsChange,
  { orgId, settings }: Agent,
  { models, prices, pays }: Pick<AgentContext, "models" | "prices"> & { pays: boolean },
): void {
  const own = "provider" in change || "model" in change ? [{ path: "settings", ...settings, ...change }] : [];
  const others = (change.fallback ?? []).map((one, index) => ({ path: `settings.fallback.${index}`, ...one }));
  const faults = [...own, ...others].flatMap(({ path, provider, model }): Fault[] => {
    const chosen = models?.choose({ orgId, ...(provider && { provider }), ...(model && { model }) });
    const fault = (member: string, message: string): Fault[] => [{ path: `${path}.${member}`, message }];
    let { cost } = createPrices(prices);
    if (chosen && !("missing" in chosen)) cost = (_, usage) => chosen.cost(usage);
    else if (chosen?.models) return fault("model", whyMissing(chosen));
    // A provider may get its key later.
    else if (chosen && provider && !Object.hasOwn(PROVIDERS, provider)) return fault("provider", whyMissing(chosen));
    if (!pays || !model || cost(model, { input: 0, cachedInput: 0, output: 0 }) !== undefined) return [];
    const why = `No price is known for model ${model}, and the agent's organisation pays for its queries`;
    return fault("model", `${why}. Name another model, or have the operator add its price (--prices)`);
  });
  const [first] = faults;
  if (first) throw new AdminError(`${first.message}.`, "model", faults);
}

/** Old and new values of changed settings, for the audit log, without schemas. */
function settingsChanges(before: AgentSettings, after: AgentSettings): JsonObject | undefined {
  const names = Object.keys({ ...before, ...after }) as (keyof AgentSettings)[];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (changed.length === 0) return undefined;
  return Object.fromEntries(
    changed.map((name) => [name, { from: auditValue(before, name), to: auditValue(after, name) }]),
  );
}

function auditValue(settings: AgentSettings, name: keyof AgentSettings): JsonValue {
  const value = settings[name];
  if (value === undefined) return null;
  return name === "responseSchema" ? "(a schema)" : (value as JsonValue);
}

const sentence = ({ path, message }: Fault): string => `${path}: ${message}.`;

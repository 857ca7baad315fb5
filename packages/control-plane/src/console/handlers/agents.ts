import type { AgentDetail, Credential } from "@patchbay/protocol/console";
import { notFound } from "../console-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { agentOf } from "./agent-of.ts";

type AgentRoutes =
  | "GET /agents"
  | "POST /agents"
  | "GET /agents/:agent_id"
  | "PATCH /agents/:agent_id"
  | "DELETE /agents/:agent_id";

export function agentHandlers({ store, adminOf }: Pick<ConsoleDeps, "store" | "adminOf">): HandlersOf<AgentRoutes> {
  const { agents, credentials } = store.console;

  async function shown(orgId: string, agentId: string): Promise<AgentDetail> {
    return found(await agents.get(orgId, agentId), "agent");
  }

  return {
    "GET /agents": ({ by, query }) => agents.list(by.orgId, paged(query)),

    async "POST /agents"({ by, body }) {
      const { name, instructions = "" } = body;
      const made = await adminOf(by.memberId).createAgent(name, { orgId: by.orgId, instructions });
      const agent = await shown(by.orgId, made.agentId);
      const credential: Credential = found(await credentials.get(by.orgId, made.agentId, made.keyId), "key");
      return { agent, key: { credential, secret: made.apiKey } };
    },

    "GET /agents/:agent_id": ({ by, params }) => shown(by.orgId, params.agent_id),

    async "PATCH /agents/:agent_id"({ by, params, body }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { name, instructions, accessChanges, settings } = body;
      const change = {
        ...(name !== undefined && { name }),
        ...(instructions !== undefined && { instructions }),
        ...(accessChanges !== undefined && { accessChanges }),
        ...(settings !== undefined && { settings }),
      };
      if (Object.keys(change).length > 0) await adminOf(by.memberId).updateAgent(agentId, change);
      return shown(by.orgId, agentId);
    },

    async "DELETE /agents/:agent_id"({ by, params }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      await adminOf(by.memberId).deleteAgent(agentId);
    },
  };
}

/** It may have been deleted meanwhile. */
function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw notFound(what);
  return value;
}

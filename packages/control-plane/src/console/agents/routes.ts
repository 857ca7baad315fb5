import { PROVIDER_NAMES } from "@patchbay/protocol";
import { lackedScopes, type Credential, type ServiceScope } from "@patchbay/protocol/console";
import { AdminError } from "../../accounts/admin-error.ts";
import { invalid, ServiceError } from "../../ports/service-error.ts";
import type { Agent, CredentialKind } from "../../ports/stores.ts";
import { type Actor, requireScopes } from "../actors.ts";
import { type ConsoleDeps, found, type HandlersOf, paged } from "../handler.ts";

type AgentRoutes =
  | "GET /agents"
  | "POST /agents"
  | "GET /agents/:agent_id"
  | "PATCH /agents/:agent_id"
  | "DELETE /agents/:agent_id"
  | "GET /agents/:agent_id/runtimes"
  | "GET /models";

type AgentDeps = Pick<ConsoleDeps, "queries" | "adminOf" | "models">;

export function agentRoutes({ queries, adminOf, models }: AgentDeps): HandlersOf<AgentRoutes> {
  const { agents, credentials, runtimes } = queries;

  // Another request may delete the agent between two statements.
  const detail = async (orgId: string, agentId: string) => found(await agents.get(orgId, agentId), "agent");

  return {
    "GET /agents": ({ by, query }) => agents.list(by.orgId, paged(query)),

    async "POST /agents"({ by, body }) {
      const { name, instructions = "" } = body;
      const created = await adminOf(by.actorId).createAgent(name, { orgId: by.orgId, instructions });
      const agent = await detail(by.orgId, created.agentId);
      const credential = found(await credentials.get(by.orgId, created.agentId, created.keyId), "key");
      return { agent, key: { credential, secret: created.apiKey } };
    },

    "GET /agents/:agent_id": ({ agent: { orgId, agentId } }) => detail(orgId, agentId),

    async "PATCH /agents/:agent_id"({ by, agent: { orgId, agentId }, body }) {
      const { name, instructions, accessChanges, settings } = body;
      const change = {
        ...(name !== undefined && { name }),
        ...(instructions !== undefined && { instructions }),
        ...(accessChanges !== undefined && { accessChanges }),
        ...(settings !== undefined && { settings }),
      };
      if (Object.keys(change).length > 0) await adminOf(by.actorId).updateAgent(agentId, change);
      return detail(orgId, agentId);
    },

    async "DELETE /agents/:agent_id"({ by, agent }) {
      await adminOf(by.actorId).deleteAgent(agent.agentId);
    },

    "GET /agents/:agent_id/runtimes": ({ agent: { orgId, agentId }, query }) =>
      runtimes.list(orgId, agentId, paged(query)),

    async "GET /models"() {
      const chosen = models.choose();
      const missing = "missing" in chosen;
      return {
        default: missing ? null : { provider: chosen.provider.name, model: chosen.model },
        providers: models.providers().flatMap(({ name, ...about }) => {
          const known = PROVIDER_NAMES.find((one) => one === name);
          return known === undefined ? [] : [{ name: known, ...about }];
        }),
      };
    },
  };
}

type CredentialRoutes =
  | "GET /agents/:agent_id/credentials"
  | "POST /agents/:agent_id/credentials"
  | "POST /agents/:agent_id/credentials/:credential_id/rotate"
  | "DELETE /agents/:agent_id/credentials/:credential_id";

type CredentialDeps = Pick<ConsoleDeps, "queries" | "adminOf">;

export function credentialRoutes({ queries, adminOf }: CredentialDeps): HandlersOf<CredentialRoutes> {
  const { credentials } = queries;

  const credentialOf = async ({ orgId, agentId }: Agent, credentialId: string): Promise<Credential> =>
    found(await credentials.get(orgId, agentId, credentialId), "key or token");

  return {
    "GET /agents/:agent_id/credentials"({ by, agent: { orgId, agentId }, query }) {
      const { kind, ...page } = paged(query);
      return credentials.list(orgId, agentId, { ...page, kinds: kindsFor(by, kind) });
    },

    async "POST /agents/:agent_id/credentials"({ by, agent, body }) {
      const { kind, label, roles, can, expiresInDays } = body;
      if (roles && kind !== "api")
        throw invalid([{ path: "roles", message: "are for API keys only: other credentials send no queries" }]);
      if (can && kind !== "api")
        throw invalid([{ path: "can", message: "is for API keys only: other credentials decide no approvals" }]);
      if (expiresInDays !== undefined && kind === "access")
        throw invalid([{ path: "expiresInDays", message: "is not for access tokens, which always live 12 hours" }]);
      requireScopes(by, scopesFor({ kind, can }));
      const { credentialId, secret } = await adminOf(by.actorId).credentials.create(kind, {
        agentId: agent.agentId,
        ...(label !== undefined && { label }),
        ...(roles && { roles }),
        ...(can && { can }),
        ...(expiresInDays !== undefined && { expiresInDays }),
      });
      return { credential: await credentialOf(agent, credentialId), secret };
    },

    async "POST /agents/:agent_id/credentials/:credential_id/rotate"({ by, agent, params, body }) {
      const { kind, can, credentialId } = await credentialOf(agent, params.credential_id);
      requireScopes(by, scopesFor({ kind, can }));
      const overlapMs = body.overlapSeconds * 1_000;
      const fresh = await adminOf(by.actorId).credentials.rotate(kind, credentialId, { overlapMs }).catch(asConflict);
      return { credential: await credentialOf(agent, fresh.credentialId), secret: fresh.secret };
    },

    async "DELETE /agents/:agent_id/credentials/:credential_id"({ by, agent, params }) {
      const { kind, credentialId, state } = await credentialOf(agent, params.credential_id);
      requireScopes(by, scopesFor({ kind }));
      if (state !== "revoked") await adminOf(by.actorId).credentials.revoke(kind, credentialId);
    },
  };
}

const SUBJECT_OF = { api: "keys", runtime: "runtime-keys", access: "keys" } as const satisfies Record<
  CredentialKind,
  string
>;

/** The scopes that a change of such a credential needs. Its secret gives all that the credential may do. */
function scopesFor({
  kind,
  can,
}: {
  kind: CredentialKind;
  can?: readonly string[] | null | undefined;
}): ServiceScope[] {
  return [`${SUBJECT_OF[kind]}:write`, ...(can?.includes("approve") ? ["approvals:write" as const] : [])];
}

/** The kinds of credentials in a list: the asked one, else all that the actor may read; undefined for every kind. */
function kindsFor(by: Actor, kind: CredentialKind | undefined): CredentialKind[] | undefined {
  if (kind !== undefined) {
    requireScopes(by, [`${SUBJECT_OF[kind]}:read`]);
    return [kind];
  }
  if (!("scopes" in by)) return undefined;
  const { scopes } = by;
  return (Object.keys(SUBJECT_OF) as CredentialKind[]).filter(
    (one) => lackedScopes(scopes, [`${SUBJECT_OF[one]}:read`]).length === 0,
  );
}

/** The credential is revoked or expired, possibly by another request since it was read. */
function asConflict(error: unknown): never {
  if (error instanceof AdminError) throw new ServiceError("conflict", error.message, { cause: error });
  throw error;
}

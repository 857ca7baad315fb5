import { present } from "@patchbay/kit";
import { PROVIDER_NAMES } from "@patchbay/protocol";
import { lackedScopes, type Credential, type ServiceScope } from "@patchbay/protocol/console";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { CredentialKind } from "@patchbay/engine/ports/store/stores";
import { type Actor, requireScopes } from "../actors.ts";
import { type ConsoleDeps, found, type Handlers, paged } from "../handler.ts";
import type { AgentScope } from "../lists.ts";

type AgentDeps = Pick<ConsoleDeps, "queries" | "adminOf" | "models">;

export function agentRoutes({ queries, adminOf, models }: AgentDeps) {
  const { agents, credentials, runtimes } = queries;

  // Another request may delete the agent between two statements.
  const detail = async (scope: AgentScope) => found(await agents.get(scope), "agent");

  return {
    "GET /agents": ({ by, query }) => agents.list(by.orgId, paged(query)),

    async "POST /agents"({ by, body }) {
      const { name, instructions = "" } = body;
      const created = await adminOf(by.actorId).createAgent(name, { orgId: by.orgId, instructions });
      const agent = await detail(created);
      const credential = found(await credentials.get(created, created.keyId), "key");
      return { agent, key: { credential, secret: created.apiKey } };
    },

    "GET /agents/:agent_id": ({ agent }) => detail(agent),

    async "PATCH /agents/:agent_id"({ by, agent, body }) {
      const { name, instructions, accessChanges, settings } = body;
      const change = present({ name, instructions, accessChanges, settings });
      if (Object.keys(change).length > 0) await adminOf(by.actorId).updateAgent(agent.agentId, change);
      return detail(agent);
    },

    async "DELETE /agents/:agent_id"({ by, agent }) {
      await adminOf(by.actorId).deleteAgent(agent.agentId);
    },

    "GET /agents/:agent_id/runtimes": ({ agent, query }) => runtimes.list(agent, paged(query)),

    async "GET /models"({ by: { orgId } }) {
      const chosen = models.choose({ orgId });
      const missing = "missing" in chosen;
      return {
        default: missing ? null : { provider: chosen.provider.name, model: chosen.model },
        providers: models.providers(orgId).flatMap(({ family, ...about }) => {
          const known = PROVIDER_NAMES.find((provider) => provider === family);
          return known === undefined ? [] : [{ family: known, ...about }];
        }),
      };
    },
  } satisfies Handlers;
}

type CredentialDeps = Pick<ConsoleDeps, "queries" | "adminOf">;

export function credentialRoutes({ queries, adminOf }: CredentialDeps) {
  const { credentials } = queries;

  const credentialOf = async (scope: AgentScope, credentialId: string): Promise<Credential> =>
    found(await credentials.get(scope, credentialId), "key or token");

  return {
    "GET /agents/:agent_id/credentials"({ by, agent, query }) {
      const { kind, ...page } = paged(query);
      return credentials.list(agent, { ...page, kinds: kindsFor(by, kind) });
    },

    async "POST /agents/:agent_id/credentials"({ by, agent, body }) {
      const { kind, label, roles, can, taskModel, expiresInDays } = body;
      if (roles && kind !== "api")
        throw invalid([{ path: "roles", message: "are for API keys only: other credentials send no queries" }]);
      if (can && kind !== "api")
        throw invalid([{ path: "can", message: "is for API keys only: other credentials decide no approvals" }]);
      if (taskModel !== undefined && kind !== "api")
        throw invalid([{ path: "taskModel", message: "is for API keys only: other credentials send no queries" }]);
      if (expiresInDays !== undefined && kind === "access")
        throw invalid([{ path: "expiresInDays", message: "is not for access tokens, which always live 12 hours" }]);
      requireScopes(by, scopesFor({ kind, can }));
      const { credentialId, secret } = await adminOf(by.actorId).credentials.create(kind, {
        agentId: agent.agentId,
        ...present({ label, roles, can, taskModel, expiresInDays }),
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
  } satisfies Handlers;
}

const SUBJECT_OF = { api: "keys", runtime: "runtime-keys", access: "keys" } as const satisfies Record<
  CredentialKind,
  string
>;

/** The scopes for changing such a credential. Its secret gives all that the credential may do. */
function scopesFor({ kind, can }: { kind: CredentialKind; can?: Credential["can"] | undefined }): ServiceScope[] {
  return [`${SUBJECT_OF[kind]}:write`, ...(can?.includes("approve") ? ["approvals:write" as const] : [])];
}

/** The credential kinds in a list: the requested one, or all that the actor may read; undefined for every kind. */
function kindsFor(by: Actor, kind: CredentialKind | undefined): CredentialKind[] | undefined {
  if (kind !== undefined) {
    requireScopes(by, [`${SUBJECT_OF[kind]}:read`]);
    return [kind];
  }
  if (!("scopes" in by)) return undefined;
  const { scopes } = by;
  return (Object.keys(SUBJECT_OF) as CredentialKind[]).filter(
    (kind) => lackedScopes(scopes, [`${SUBJECT_OF[kind]}:read`]).length === 0,
  );
}

/** The credential is revoked or expired, possibly by another request since it was read. */
function asConflict(error: unknown): never {
  if (error instanceof AdminError) throw new ServiceError("conflict", error.message, { cause: error });
  throw error;
}

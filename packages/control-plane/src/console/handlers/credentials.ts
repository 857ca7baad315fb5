import type { Credential } from "@patchbay/protocol/console";
import { invalid } from "../../ports/service-error.ts";
import { AdminError } from "../../accounts/admin-error.ts";
import { ConsoleError, notFound } from "../console-error.ts";
import type { ConsoleDeps } from "../deps.ts";
import type { HandlersOf } from "../handler.ts";
import { paged } from "../page-size.ts";
import { agentOf } from "./agent-of.ts";

type CredentialRoutes =
  | "GET /agents/:agent_id/credentials"
  | "POST /agents/:agent_id/credentials"
  | "POST /agents/:agent_id/credentials/:credential_id/rotate"
  | "DELETE /agents/:agent_id/credentials/:credential_id";

export function credentialHandlers({
  store,
  adminOf,
}: Pick<ConsoleDeps, "store" | "adminOf">): HandlersOf<CredentialRoutes> {
  const reads = store.console.credentials;

  async function credentialOf(orgId: string, agentId: string, credentialId: string): Promise<Credential> {
    await agentOf(store, orgId, agentId);
    const credential = await reads.get(orgId, agentId, credentialId);
    if (!credential) throw notFound("key or token");
    return credential;
  }

  return {
    async "GET /agents/:agent_id/credentials"({ by, params, query }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      return reads.list(by.orgId, agentId, paged(query));
    },

    async "POST /agents/:agent_id/credentials"({ by, params, body }) {
      const { agentId } = await agentOf(store, by.orgId, params.agent_id);
      const { kind, label, roles, expiresInDays } = body;
      const alone = (path: string, message: string) => invalid([{ path, message }]);
      if (roles && kind !== "api")
        throw alone("roles", "are for API keys alone: other credentials ask no queries as a role");
      if (expiresInDays !== undefined && kind === "access")
        throw alone("expiresInDays", "is not for access tokens, which always live 12 hours");
      const { credentialId, secret } = await adminOf(by.memberId).credentials.create(kind, {
        agentId,
        ...(label !== undefined && { label }),
        ...(roles && { roles }),
        ...(expiresInDays !== undefined && { expiresInDays }),
      });
      return { credential: await credentialOf(by.orgId, agentId, credentialId), secret };
    },

    async "POST /agents/:agent_id/credentials/:credential_id/rotate"({ by, params, body }) {
      const { kind, agentId, credentialId } = await credentialOf(by.orgId, params.agent_id, params.credential_id);
      const overlapMs = body.overlapSeconds * 1_000;
      const made = await adminOf(by.memberId).credentials.rotate(kind, credentialId, { overlapMs }).catch(asConflict);
      return { credential: await credentialOf(by.orgId, agentId, made.credentialId), secret: made.secret };
    },

    async "DELETE /agents/:agent_id/credentials/:credential_id"({ by, params }) {
      const { kind, credentialId, state } = await credentialOf(by.orgId, params.agent_id, params.credential_id);
      if (state !== "revoked") await adminOf(by.memberId).credentials.revoke(kind, credentialId);
    },
  };
}

/** What may not be rotated is revoked or expired, perhaps since a moment ago. */
function asConflict(error: unknown): never {
  if (error instanceof AdminError) throw new ConsoleError("conflict", error.message, { cause: error });
  throw error;
}

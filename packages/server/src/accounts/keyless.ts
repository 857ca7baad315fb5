import type { Log } from "@patchbay/kit";
import type { ProvenCaller } from "@patchbay/engine/ports/callers";
import type { Clock } from "@patchbay/engine/ports/clock";
import { standardError } from "@patchbay/engine/ports/service-error";
import type { AccountStore, Credential } from "@patchbay/engine/ports/store/stores";
import { noteUse } from "./authenticator.ts";
import type { CallerIssuer, ProveCaller } from "./callers.ts";
import { hashSecret } from "./secret.ts";

/** A proven caller without an API key. */
export interface KeylessCaller {
  /** Stands for the caller where a key would: in its runs, limits, chats, client tokens and audit entries. */
  credential: Credential;
  proven: ProvenCaller;
  /** The required scope that the token lacks. */
  lacks?: string;
}

/** Admits callers whose token is their whole credential, to agents with the setting `keyless`. */
export function createKeylessAccess(
  { issuer, scope }: Pick<CallerIssuer, "issuer" | "scope">,
  deps: {
    accounts: Pick<AccountStore, "getAgent" | "findCredential" | "createCredential" | "touchCredential">;
    proveCaller: ProveCaller;
    clock: Clock;
    log: Log;
  },
) {
  const { accounts, proveCaller } = deps;

  /** Each caller of each agent has one credential, which its first request stores. */
  async function credentialOf(agentId: string, { ids: [callerId], subject }: ProvenCaller): Promise<Credential> {
    const hash = hashSecret(JSON.stringify([agentId, callerId]));
    let found = await accounts.findCredential("caller", hash);
    if (!found) {
      const credentialId = `clr_${hash.slice(0, 32)}`;
      // Its roles are proven, not stated, so it may decide as one of them.
      const rights = { can: ["approve" as const], hint: "", label: subject };
      await accounts.createCredential({ credentialId, kind: "caller", agentId, hash, ...rights });
      found = await accounts.findCredential("caller", hash);
    }
    const known = noteUse(found, found?.credentialId, deps, (id) => accounts.touchCredential(id));
    if (!known) throw standardError("authentication_failed");
    // The label is the subject, which belongs in the console but not in logs.
    const { label: _, ...credential } = known;
    return credential;
  }

  return {
    issuer,
    scope,
    /** True if the agent exists and needs no key. */
    opens: async (agentId: string): Promise<boolean> =>
      (await accounts.getAgent(agentId))?.settings.callers === "keyless",
    /** Throws as `ProveCaller` does. A caller without a role claim may state no role. */
    async authenticate(agentId: string, token: string): Promise<KeylessCaller> {
      const { lacks, ...proven } = await proveCaller(token, { agentId, alone: true });
      const credential = await credentialOf(agentId, proven);
      return { credential, proven: { ...proven, roles: proven.roles ?? [] }, ...(lacks !== undefined && { lacks }) };
    },
  };
}

export type KeylessAccess = ReturnType<typeof createKeylessAccess>;

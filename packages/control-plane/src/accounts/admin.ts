import type { ModelPrices } from "../models/prices.ts";
import type { Store } from "../ports/stores.ts";
import { accessAdmin, type AccessAdmin } from "./admin-access.ts";
import { auditAdmin, type AuditAdmin } from "./admin-audit.ts";
import { accountAdmin, type AccountAdmin } from "./admin-accounts.ts";
import { agentAdmin, type AgentAdmin } from "./admin-agents.ts";
import { createCredentials, credentialAdmin, type CredentialAdmin, type Credentials } from "./credentials.ts";
import { recordAdmin, type RecordAdmin } from "./admin-records.ts";
import { webhookAdmin, type WebhookAdmin } from "./admin-webhooks.ts";
import { createMembers, type Members } from "./members.ts";
import { createServiceTokens, type ServiceTokens } from "./service-tokens.ts";

import { DEFAULT_TIERS, type Tiers } from "./limits.ts";

/** Manages a store. Methods throw `AdminError` for unknown ids and invalid values. Each change is written to the audit log. */
export type Admin = AccountAdmin &
  AgentAdmin &
  AccessAdmin &
  AuditAdmin &
  CredentialAdmin &
  RecordAdmin &
  WebhookAdmin & {
    readonly credentials: Credentials;
    readonly members: Members;
    readonly serviceTokens: ServiceTokens;
  };

export interface AdminOptions {
  store: Store;
  tiers?: Tiers;
  /** Id of the acting console member or service token. The audit log then has it as `keyId`. */
  by?: string | undefined;
  /** Prices of the operator. Each replaces the built-in price of its model. */
  prices?: ModelPrices | undefined;
  /** Called after the change of an agent, or the confirmation of one of its function sets. */
  agentChanged?: ((agentId: string) => void) | undefined;
}

/** Manages a store, also while a server uses it. */
export function createAdmin({ store, tiers = DEFAULT_TIERS, by, prices, agentChanged }: AdminOptions): Admin {
  const credentials = createCredentials(store, by);
  const context = { tiers, author: by === undefined ? {} : { keyId: by }, agentChanged };
  const accounts = accountAdmin(store, context);
  return {
    ...accounts,
    ...agentAdmin(store, { ...context, orgFor: accounts.orgFor, credentials, prices }),
    ...accessAdmin(store, { by, agentChanged }),
    ...auditAdmin(store),
    ...credentialAdmin(credentials),
    ...recordAdmin(store),
    ...webhookAdmin(store, context),
    credentials,
    members: createMembers(store, by),
    serviceTokens: createServiceTokens(store, by),
  };
}

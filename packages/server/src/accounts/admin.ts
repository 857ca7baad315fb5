import type { ModelPrices } from "@patchbay/models/prices";
import type { ModelCatalog } from "@patchbay/engine/ports/model-provider";
import type { Store } from "@patchbay/engine/ports/store/stores";
import { accessAdmin, type AccessAdmin } from "./admin-access.ts";
import { auditAdmin, type AuditAdmin } from "./admin-audit.ts";
import { accountAdmin, type AccountAdmin } from "./admin-accounts.ts";
import { agentAdmin, type AgentAdmin } from "./admin-agents.ts";
import { createCredentials, credentialAdmin, type CredentialAdmin, type Credentials } from "./credentials.ts";
import { evidenceAdmin, type EvidenceAdmin } from "./admin-evidence.ts";
import { recordAdmin, type RecordAdmin } from "./admin-records.ts";
import { reviewAdmin, type ReviewAdmin } from "./admin-review.ts";
import { webhookAdmin, type WebhookAdmin } from "./admin-webhooks.ts";
import { createMembers, type Members } from "./members.ts";
import { createServiceTokens, type ServiceTokens } from "./service-tokens.ts";

import { DEFAULT_TIERS, type Tiers } from "./limits.ts";

/** Manages a store. Methods throw `AdminError` for unknown ids and invalid values. The audit log has each change. */
export type Admin = AccountAdmin &
  AgentAdmin &
  AccessAdmin &
  AuditAdmin &
  CredentialAdmin &
  EvidenceAdmin &
  RecordAdmin &
  ReviewAdmin &
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
  /** The operator's prices. Each replaces its model's built-in price. */
  prices?: ModelPrices | undefined;
  /** The models that agents' settings may name. Default: any. */
  models?: ModelCatalog | undefined;
  /** Called after an agent changes, or one of its function sets is confirmed. */
  agentChanged?: ((agentId: string) => void) | undefined;
}

/** Manages a store, also while a server uses it. */
export function createAdmin({ store, tiers = DEFAULT_TIERS, by, prices, models, agentChanged }: AdminOptions): Admin {
  const credentials = createCredentials(store, by);
  const context = { tiers, author: by === undefined ? {} : { keyId: by }, agentChanged };
  const accounts = accountAdmin(store, context);
  const records = recordAdmin(store);
  const audit = auditAdmin(store);
  return {
    ...accounts,
    ...agentAdmin(store, { ...context, orgFor: accounts.orgFor, credentials, prices, models }),
    ...accessAdmin(store, { by, agentChanged }),
    ...audit,
    ...credentialAdmin(credentials),
    ...records,
    ...reviewAdmin(store, by),
    ...evidenceAdmin(store, { ...audit, ...records }),
    ...webhookAdmin(store, context),
    credentials,
    members: createMembers(store, by),
    serviceTokens: createServiceTokens(store, by),
  };
}

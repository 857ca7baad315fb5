import type { ModelPrices } from "../models/price-file.ts";
import type { Store } from "../ports/stores.ts";
import { accessAdmin, type AccessAdmin } from "./admin-access.ts";
import { accountAdmin, type AccountAdmin } from "./admin-accounts.ts";
import { credentialAdmin, type CredentialAdmin } from "./admin-credentials.ts";
import { recordAdmin, type RecordAdmin } from "./admin-records.ts";
import { createMembers, type Members } from "./members.ts";
import { createCredentials, type Credentials } from "./credentials.ts";
import { DEFAULT_TIERS, type Tiers } from "./tiers.ts";

export { AdminError } from "./admin-error.ts";

/** What an administrator can do, straight on a store. Throws `AdminError` for ids that do not exist and values that cannot be. */
export type Admin = AccountAdmin &
  AccessAdmin &
  CredentialAdmin &
  RecordAdmin & {
    readonly credentials: Credentials;
    readonly members: Members;
  };

export interface AdminOptions {
  store: Store;
  tiers?: Tiers;
  /** The member of the console in whose name it is done; the audit log then has the member's id as `keyId`. */
  by?: string;
  /** Prices of the operator, each in place of the shipped price of its model. */
  prices?: ModelPrices | undefined;
}

/** Administers a store, also beside a server that uses it. Each change stands in the audit log. */
export function createAdmin({ store, tiers = DEFAULT_TIERS, by, prices }: AdminOptions): Admin {
  const credentials = createCredentials(store, by);
  return {
    ...accountAdmin(store, { tiers, credentials, by, prices }),
    ...accessAdmin(store, by),
    ...credentialAdmin(credentials),
    ...recordAdmin(store),
    credentials,
    members: createMembers(store, by),
  };
}

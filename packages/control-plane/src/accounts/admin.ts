import type { Store } from "../ports/stores.ts";
import { accountAdmin, type AccountAdmin } from "./admin-accounts.ts";
import { credentialAdmin, type CredentialAdmin } from "./admin-credentials.ts";
import { recordAdmin, type RecordAdmin } from "./admin-records.ts";
import { DEFAULT_TIERS, type Tiers } from "./tiers.ts";

export { AdminError } from "./admin-error.ts";

/** What an administrator can do, straight on a store. Throws `AdminError` for ids that do not exist and values that cannot be. */
export type Admin = AccountAdmin & CredentialAdmin & RecordAdmin;

/** Administers a store, also beside a server that uses it. Each change stands in the audit log. */
export function createAdmin({ store, tiers = DEFAULT_TIERS }: { store: Store; tiers?: Tiers }): Admin {
  const credentials = credentialAdmin(store);
  return { ...accountAdmin(store, { tiers, credentials }), ...credentials, ...recordAdmin(store) };
}

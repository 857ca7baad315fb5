import type { Admin } from "../accounts/admin.ts";
import type { Tiers } from "../accounts/tiers.ts";
import type { HttpDeps } from "../http/deps.ts";
import type { AccessWatch } from "../ports/access-watch.ts";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import type { ModelCatalog } from "../ports/model-provider.ts";
import type { Store } from "../ports/stores.ts";

/** Dependencies of the console: those of the HTTP layer, and what is administered. */
export interface ConsoleDeps extends HttpDeps {
  store: Store;
  /** Administers in the name of a member, whose id then stands in the audit log. */
  adminOf(memberId: string): Admin;
  gateway: FunctionGateway;
  models: ModelCatalog;
  tiers: Tiers;
  /** Ends open views after their session. */
  access: AccessWatch;
  /** Aborted when the process begins to stop. */
  closing: AbortSignal;
  /** Days that ended runs, and entries of the audit log, are kept. */
  retentionDays: number;
  auditDays: number;
  usageDays: number;
  /** Folder of the built console. Without one its address says how to build it. */
  consoleFiles?: string;
}

/** Works on a control plane's database directly, also while a server uses it: for the command line, tools and tests. */
export { AgentSettings } from "@patchbay/protocol";
export { createAdmin, type Admin } from "@patchbay/server/accounts/admin";
export { parseSince } from "@patchbay/server/accounts/admin-records";
export { generateSecret } from "@patchbay/server/accounts/secret";
export { hashManifest } from "@patchbay/gateway/routing/manifest-hash";
export { reachesNats } from "@patchbay/gateway/bus/nats-server";
export type { Store } from "@patchbay/engine/ports/store/stores";
export { exportTests } from "@patchbay/console-api/runs/test-export";
export { exportRun, type ExportedQuery, type ExportedRun } from "@patchbay/server/recording/run-export";
export { testOf } from "@patchbay/server/recording/test-file";
export { createApprovals } from "@patchbay/engine/run/approvals";
export { retryRun } from "@patchbay/engine/run/start/retry";
export { startControlPlane, type StartedControlPlane } from "./start/control-plane.ts";
export { endOpenRuns, restoreBackup, type Restored } from "./start/restore.ts";
export type { SchemaStatus } from "@patchbay/engine/ports/store/schema-status";
export { inspectStore, openStore, type OpenStore } from "@patchbay/store/open";
export { type Difference, violations } from "@patchbay/store/proof/violations";

/** Works on a control plane's database directly, also while a server uses it: for the command line, tools and tests. */
export { AgentSettings } from "@patchbay/protocol";
export { createAdmin, type Admin } from "./accounts/admin.ts";
export { generateSecret } from "./accounts/secret.ts";
export { hashManifest } from "./gateway/routing/manifest-hash.ts";
export { reachesNats } from "./bus/nats-server.ts";
export type { Store } from "./ports/stores.ts";
export { exportTests } from "./console/runs/test-export.ts";
export { exportRun, type ExportedQuery, type ExportedRun } from "./recording/run-export.ts";
export { testOf } from "./recording/test-file.ts";
export { createApprovals } from "./run/approvals.ts";
export { startControlPlane, type StartedControlPlane } from "./start/control-plane.ts";
export { endOpenRuns, restoreBackup, type Restored } from "./start/restore.ts";
export type { SchemaStatus } from "./ports/schema-status.ts";
export { inspectStore, openStore, type OpenStore } from "./store/open.ts";

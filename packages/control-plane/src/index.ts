/** The Patchbay control plane. */
export type { Runs } from "./run/api.ts";

/** Functions with roles, and the runtime that connects them. */
export type { Manifest } from "@patchbay/protocol";

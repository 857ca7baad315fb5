/** Parts of the control plane for the round trip, built like the packages. */
export { createAdmin } from "@patchbay/server/accounts/admin";
export { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
export { createFunctionGateway } from "@patchbay/gateway/gateway";
export { createLog } from "@patchbay/control-plane/start/log";
export { openStore } from "@patchbay/store/open";

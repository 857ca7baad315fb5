/** Parts of the control plane for the round trip, built like the packages. */
export { createAdmin } from "../../packages/control-plane/src/accounts/admin.ts";
export { createMemoryBus } from "../../packages/control-plane/src/bus/memory-bus.ts";
export { createFunctionGateway } from "../../packages/control-plane/src/gateway/gateway.ts";
export { createLog } from "../../packages/control-plane/src/start/log.ts";
export { openStore } from "../../packages/control-plane/src/store/open.ts";

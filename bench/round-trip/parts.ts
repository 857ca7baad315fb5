/** What of the control plane the round trip runs by itself; built as the packages are. */
export { createAdmin } from "../../packages/control-plane/src/accounts/admin.ts";
export { createMemoryBus } from "../../packages/control-plane/src/bus/memory-bus.ts";
export { createFunctionGateway } from "../../packages/control-plane/src/gateway/gateway.ts";
export { createLog } from "../../packages/control-plane/src/log.ts";
export { openStore } from "../../packages/control-plane/src/store/open.ts";

import { connect, type Connection, type ConnectOptions, type Service } from "@patchbay/functions";
import { type ChaosProxy, startChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { type GatewayOptions, type GatewayServer, startGateway } from "@patchbay/test-support/gateway-server";

export type Server = Pick<GatewayServer, "gateway" | "port" | "cut" | typeof Symbol.asyncDispose>;
export type Proxied = Pick<ChaosProxy, "retarget" | "cut" | "refusing" | typeof Symbol.asyncDispose>;

/** How runtimes reach replicas. */
export interface Links {
  startGateway(options: GatewayOptions): Promise<Server>;
  startProxy(port: number): Promise<Proxied>;
  /** Connects a runtime by its proxy. */
  connect(proxy: Proxied, service: Service, options: Omit<ConnectOptions, "url">): Connection;
}

export const sockets = {
  startGateway,
  startProxy: startChaosProxy,
  connect: ({ port }: ChaosProxy, service, options) =>
    connect(service, { ...options, url: `http://127.0.0.1:${port}` }),
} as Links;

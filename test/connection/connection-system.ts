import { connect, silentLog, type Connection, type ConnectOptions, type Service } from "@patchbay/functions";
import type { FunctionGatewayOptions } from "@patchbay/gateway/gateway";
import { startChaosProxy, type ChaosProxy } from "@patchbay/test-support/chaos-proxy";
import { startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { until } from "@patchbay/test-support/inbox";

/** A gateway and its runtimes, with a proxy between them that acts as a bad network. */
export interface ConnectionSystem extends AsyncDisposable {
  readonly server: GatewayServer;
  readonly proxy: ChaosProxy;
  /** Connects a runtime through the proxy. Resolves when the gateway has welcomed it. */
  join(service: Service, options?: Partial<ConnectOptions>): Promise<Connection>;
  /** Stops the gateway as a crash does and starts another one in its place. */
  restart(options?: Partial<FunctionGatewayOptions>): Promise<void>;
}

export async function startConnectionSystem(options: Partial<FunctionGatewayOptions> = {}): Promise<ConnectionSystem> {
  let server = await startGateway(options);
  const proxy = await startChaosProxy(server.port);
  const runtimes: Connection[] = [];
  return {
    get server() {
      return server;
    },
    proxy,
    async join(service, change = {}) {
      const runtime = connect(service, {
        url: `http://127.0.0.1:${proxy.port}`,
        key: "key-of-a",
        log: silentLog,
        backoff: { firstMs: 10, baseMs: 10, maxMs: 50 },
        ...change,
      });
      const before = server.gateway.connectionCount();
      runtimes.push(runtime);
      await runtime.ready;
      await until(() => server.gateway.connectionCount() > before, "the runtime");
      return runtime;
    },
    async restart(next = options) {
      proxy.cut();
      await server[Symbol.asyncDispose]();
      server = await startGateway(next);
      proxy.retarget(server.port);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(runtimes.map((runtime) => runtime.stop({ drainMs: 0 })));
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

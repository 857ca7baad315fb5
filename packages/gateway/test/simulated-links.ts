import { connectOver } from "@patchbay/runtime/connection/connect";
import { createGateway, KEYS } from "@patchbay/test-support/gateway-server";
import { createNetwork } from "@patchbay/test-support/network";
import type { World } from "@patchbay/test-support/world";
import type { Links } from "./links.ts";

/** Links in the world's time, so that a test repeats itself exactly. A proxy's target is an index. */
export function simulatedLinks(world: World): Links {
  const process = world.machine;
  const gateways: Awaited<ReturnType<typeof createGateway>>["gateway"][] = [];
  const networks = new Map<unknown, ReturnType<typeof createNetwork>>();
  return {
    async startGateway(options) {
      const { gateway, store } = await createGateway(options);
      const port = gateways.push(gateway) - 1;
      return {
        gateway,
        port,
        cut: () => {
          throw new Error("a simulated replica cannot be killed");
        },
        async [Symbol.asyncDispose]() {
          await gateway.close();
          await store.all.close();
        },
      };
    },
    async startProxy(port) {
      let target = gateways[port]!;
      const network = createNetwork(world, () =>
        proxy.refusing ? undefined : { process, accept: (...link) => target.accept(...link, KEYS["key-of-a"]!) },
      );
      const proxy = {
        refusing: false,
        retarget: (to: number) => void (target = gateways[to]!),
        cut: () => network.reset(),
        async [Symbol.asyncDispose]() {},
      };
      networks.set(proxy, network);
      return proxy;
    },
    connect: (proxy, service, options) =>
      connectOver(networks.get(proxy)!.openSocket, service, { ...options, url: "ws://simulated" }),
  };
}

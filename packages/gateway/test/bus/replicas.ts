import { randomBytes } from "node:crypto";
import { createNatsBus, type NatsBusOptions } from "../../src/bus/nats-bus.ts";
import type { Bus } from "@patchbay/engine/ports/bus";
import type { Ends } from "./ends.ts";

/** A prefix of subjects that no other test on the same server uses. */
export function randomPrefix(): string {
  return `test-${randomBytes(8).toString("hex")}`;
}

/** Two buses on one server. */
export async function twoReplicas(
  url: string,
  options: NatsBusOptions = {},
): Promise<Ends & { here: Bus; there: Bus }> {
  const given = { prefix: randomPrefix(), ...options };
  const [here, there] = await Promise.all([createNatsBus(url, given), createNatsBus(url, given)]);
  here.serve("settle.here", async () => true);
  there.serve("settle.there", async () => true);
  // The server rejects these requests after it has registered the two servers above.
  await Promise.allSettled([here, there].map((bus) => bus.request("unserved", null, { timeoutMs: 5_000 })));
  return {
    here,
    there,
    // Both connections keep the order: an answer arrives after everything that either side sent before it.
    async settle() {
      const limits = { timeoutMs: 5_000 };
      await there.request("settle.here", null, limits);
      await here.request("settle.there", null, limits);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([here.close(), there.close()]);
    },
  };
}

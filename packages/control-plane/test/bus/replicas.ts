import { randomBytes } from "node:crypto";
import { createNatsBus, type NatsBusOptions } from "../../src/bus/nats-bus.ts";
import type { Bus } from "../../src/ports/bus.ts";
import type { Ends } from "./ends.ts";

/** Subjects that no other test on the same server uses. */
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
  // The first answers, that there is none, come after the server has taken note of who serves.
  await Promise.allSettled([here, there].map((bus) => bus.request("nobody", null, { timeoutMs: 5_000 })));
  return {
    here,
    there,
    // Both connections are in order: an answer comes after all that was sent before it, on either side.
    async settle() {
      const asked = { timeoutMs: 5_000 };
      await there.request("settle.here", null, asked);
      await here.request("settle.there", null, asked);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([here.close(), there.close()]);
    },
  };
}

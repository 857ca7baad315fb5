import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@patchbay/control-plane";
import type { Dice } from "../../examples/retail-desk/data/dice.ts";
import { StoreUnavailable } from "../../packages/control-plane/src/ports/run-store.ts";

const PARTS = ["runs", "accounts", "threads", "runtimes"] as const;
type Method = (...args: unknown[]) => Promise<unknown>;

/** Makes a running service's store fail and be slow at random, before it does anything. Counts, and stops when disposed. */
export function troubleStore(store: Store, dice: Dice, chances: { fails: number; slow: number; slowMs: number }) {
  const counts = { calls: 0, failed: 0, slow: 0 };
  const troubled = (method: Method): Method =>
    async function (...args) {
      counts.calls++;
      if (dice.chance(chances.slow)) {
        counts.slow++;
        await sleep(dice.between(1, chances.slowMs));
      }
      if (dice.chance(chances.fails)) {
        counts.failed++;
        throw new StoreUnavailable("The store is unavailable: a test has it so.");
      }
      return method(...args);
    };
  const whole = PARTS.map((part) => [part, { ...store[part] }] as const);
  for (const [part, methods] of whole)
    for (const [name, method] of Object.entries(methods))
      Object.assign(store[part], { [name]: troubled(method as Method) });
  return {
    counts,
    [Symbol.dispose]() {
      for (const [part, methods] of whole) Object.assign(store[part], methods);
    },
  };
}

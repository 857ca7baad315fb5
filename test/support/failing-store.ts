import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@patchbay/control-plane";
import type { Dice } from "../../examples/retail-desk/data/dice.ts";
import { StoreUnavailable } from "../../packages/control-plane/src/ports/run-store.ts";

const PARTS = ["runs", "accounts", "threads", "runtimes"] as const;
type Method = (...args: unknown[]) => Promise<unknown>;

export interface Trouble {
  /** Chance that a method fails without having done anything. */
  fails?: number;
  /** Chance that it fails after it has done what it was asked, as when a connection breaks before the answer. */
  failsAfter?: number;
  /** Chance that it takes up to 20 ms longer. */
  slow?: number;
}

/** Makes a running service's store fail and be slow at random. Counts, and stops when disposed. */
export function troubleStore(store: Store, dice: Dice, { fails = 0, failsAfter = 0, slow = 0 }: Trouble) {
  let failed = 0;
  function failure(): StoreUnavailable {
    failed++;
    return new StoreUnavailable("The store is unavailable: a test has it so.");
  }
  const troubled = (method: Method): Method =>
    async function (...args) {
      if (dice.chance(slow)) await sleep(dice.between(1, 20));
      if (dice.chance(fails)) throw failure();
      const done = await method(...args);
      if (dice.chance(failsAfter)) throw failure();
      return done;
    };
  const whole = PARTS.map((part) => [part, { ...store[part] }] as const);
  for (const [part, methods] of whole)
    for (const [name, method] of Object.entries(methods))
      Object.assign(store[part], { [name]: troubled(method as Method) });
  return {
    get failed() {
      return failed;
    },
    [Symbol.dispose]() {
      for (const [part, methods] of whole) Object.assign(store[part], methods);
    },
  };
}

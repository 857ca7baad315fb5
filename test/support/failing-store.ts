import { setTimeout as sleep } from "node:timers/promises";
import type { Store } from "@patchbay/control-plane/admin";
import type { Dice } from "../../examples/retail-desk/data/dice.ts";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";

type Method = (...args: unknown[]) => Promise<unknown>;
type Methods = Record<string, Method>;

export interface Trouble {
  /** Probability that a method fails without any effect. */
  fails?: number;
  /** Probability that it fails after its effect, as if a connection breaks before the answer. */
  failsAfter?: number;
  /** Probability that it takes up to 20 ms longer. */
  slow?: number;
}

/** Makes a running replica's store fail and slow down at random, until disposed. Counts the failures. */
export function troubleStore(store: Store, dice: Dice, { fails = 0, failsAfter = 0, slow = 0 }: Trouble) {
  let failed = 0;
  const met = new Set<string>();
  function failure(name: string): StoreUnavailable {
    failed++;
    met.add(name);
    return new StoreUnavailable("The store is unavailable: simulated by a test.");
  }
  const troubled = (name: string, method: Method): Method =>
    async function (...args) {
      if (dice.chance(slow)) await sleep(dice.between(1, 20));
      if (dice.chance(fails)) throw failure(name);
      const done = await method(...args);
      if (dice.chance(failsAfter)) throw failure(name);
      return done;
    };
  // Every part with methods, so that new parts fail too.
  const parts = Object.entries(store as unknown as Record<string, unknown>).filter(
    (entry): entry is [string, Methods] => typeof entry[1] === "object" && entry[1] !== null,
  );
  const whole = parts.map(([, methods]) => [methods, { ...methods }] as const);
  for (const [part, methods] of parts)
    for (const [name, method] of Object.entries(methods))
      if (typeof method === "function") methods[name] = troubled(`${part}.${name}`, method);
  return {
    get failed() {
      return failed;
    },
    /** Names of the methods that failed at least once. */
    met,
    [Symbol.dispose]() {
      for (const [methods, untroubled] of whole) Object.assign(methods, untroubled);
    },
  };
}

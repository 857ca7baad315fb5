import { World } from "./world.ts";

/** This Node.js process's time, which passes only on request, until disposed. */
export interface VirtualTime extends Disposable {
  readonly world: World;
  /** Milliseconds since the start. */
  readonly now: number;
  /** Lets all happen that is due within `ms`, then all promises settle. */
  advance(ms: number): Promise<void>;
  /** Lets time pass until `done` returns true, and returns how long that took; throws if it takes more than `withinMs`. */
  until(done: () => boolean, withinMs?: number): Promise<number>;
}

/** Virtual time for one test: a world with no process but the test's own. */
export function virtualTime(seed = 1): VirtualTime {
  const world = new World(seed);
  const installed = world.install();
  return {
    world,
    get now() {
      return world.now;
    },
    async advance(ms) {
      const end = world.now + ms;
      await world.run(() => false, end);
      world.now = end;
    },
    async until(done, withinMs = 3_600_000) {
      const start = world.now;
      if (!(await world.run(done, start + withinMs)))
        throw new Error(`Not done within ${withinMs} ms of virtual time.`);
      return world.now - start;
    },
    [Symbol.dispose]: () => installed[Symbol.dispose](),
  };
}

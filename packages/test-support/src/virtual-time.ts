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
  /** Lets time pass until `work` settles, and returns its result; throws if it takes more than an hour. */
  during<T>(work: Promise<T>): Promise<T>;
}

/** Virtual time for one test: a world with no process but the test's own. */
export function virtualTime(seed = 1): VirtualTime {
  const world = new World(seed);
  const installed = world.install();
  async function until(done: () => boolean, withinMs = 3_600_000): Promise<number> {
    const start = world.now;
    if (!(await world.run(done, start + withinMs))) throw new Error(`Not done within ${withinMs} ms of virtual time.`);
    return world.now - start;
  }
  return {
    world,
    get now() {
      return world.now;
    },
    until,
    async advance(ms) {
      const end = world.now + ms;
      await world.run(() => false, end);
      world.now = end;
    },
    async during(work) {
      let isSettled = false;
      const settled = (): void => void (isSettled = true);
      work.then(settled, settled);
      await until(() => isSettled);
      return work;
    },
    [Symbol.dispose]: () => installed[Symbol.dispose](),
  };
}

/** Plays `work` in virtual time: its waits take none of the machine's. They use `@patchbay/kit/time` and `until`. */
export async function inVirtualTime<T>(
  work: (time: Omit<VirtualTime, "advance" | "until" | "during">) => Promise<T>,
): Promise<T> {
  using time = virtualTime();
  return await time.during(work(time));
}

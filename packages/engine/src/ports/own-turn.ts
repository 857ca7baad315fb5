import { setImmediate } from "node:timers/promises";

let last: Promise<unknown> = Promise.resolve();

/**
 * Waits for a separate turn of the event loop, for work that takes 5 to 50 ms, such as parsing half a megabyte of JSON.
 * Otherwise, such work from several clients at once would block the process for the sum; so each gets its own turn,
 * with other work in between.
 */
export async function ownTurn(): Promise<void> {
  const turn = last.then(() => setImmediate());
  last = turn;
  await turn;
}

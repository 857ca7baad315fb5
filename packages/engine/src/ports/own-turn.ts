import { nextTurn } from "@patchbay/kit/time";

let last: Promise<unknown> = Promise.resolve();

/**
 * Waits for a separate turn of the event loop, for work that takes 5 to 50 ms, such as parsing half a megabyte of JSON.
 * Otherwise, such work from several clients at once would block the process for the sum; so each gets its own turn,
 * with other work in between.
 */
export async function ownTurn(): Promise<void> {
  const turn = last.then(nextTurn);
  last = turn;
  await turn;
}

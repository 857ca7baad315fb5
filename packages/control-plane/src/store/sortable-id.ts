import { randomBytes } from "node:crypto";

/** Tells the ids of this process from those of others. */
const PROCESS = randomBytes(8).toString("hex");

let counter = 0;

/**
 * An id that sorts after those this process made before: breaks ties among rows of one millisecond. What it sorts by are
 * digits alone, which every collation of a database has in the same order.
 */
export function sortableId(prefix: string): string {
  counter = (counter + 1) % 100_000_000;
  const time = Date.now().toString().padStart(15, "0");
  return `${prefix}_${time}${counter.toString().padStart(8, "0")}${PROCESS}`;
}

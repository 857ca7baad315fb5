import { randomBytes } from "node:crypto";

const RANDOM_BYTES = 8;
const MOST_IN_A_MILLISECOND = 0x1_0000;

/** Random bytes for ids to come: asking for them one id at a time costs more than all else about an id. */
let stock = Buffer.alloc(0);
let used = 0;
let lastMs = 0;
let sequence = 0;

/**
 * A typed id of 32 hex digits, for example `run_019f…`: 12 tell the millisecond, 4 the order of this process within it, and the
 * rest are 64 random bits. Runs that wait are started in the order of their ids, however many come in a millisecond. What comes
 * at one time is next to each other in the indexes of a database, and a commit has few pages to write.
 */
export function newId(prefix: "run" | "thr" | "call"): string {
  if (used === stock.length) {
    stock = randomBytes(256 * RANDOM_BYTES);
    used = 0;
  }
  const now = Date.now();
  // A clock that is set back must not put a new run before those that wait.
  if (now > lastMs || ++sequence === MOST_IN_A_MILLISECOND) {
    lastMs = Math.max(now, lastMs + 1);
    sequence = 0;
  }
  const time = lastMs.toString(16).padStart(12, "0");
  const order = sequence.toString(16).padStart(4, "0");
  return `${prefix}_${time}${order}${stock.toString("hex", used, (used += RANDOM_BYTES))}`;
}

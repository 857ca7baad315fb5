import { randomBytes } from "node:crypto";

const RANDOM_BYTES = 10;

/** Random bytes for ids to come: asking for them one id at a time costs more than all else about an id. */
let stock = Buffer.alloc(0);
let used = 0;

/**
 * A typed id of 32 hex digits, for example `run_019f…`: 12 tell the millisecond, and the rest are 80 random bits. What comes at
 * one time so stands side by side in the indexes of a database, and a commit has few pages to write.
 */
export function newId(prefix: "run" | "thr" | "call"): string {
  if (used === stock.length) {
    stock = randomBytes(256 * RANDOM_BYTES);
    used = 0;
  }
  const time = Date.now().toString(16).padStart(12, "0");
  return `${prefix}_${time}${stock.toString("hex", used, (used += RANDOM_BYTES))}`;
}

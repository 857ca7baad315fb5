import { randomBytes } from "node:crypto";

const ID_BYTES = 16;

/** Random bytes for ids to come: asking for them one id at a time costs more than all else about an id. */
let stock = Buffer.alloc(0);
let used = 0;

/** A typed id with 128 random bits, for example `run_9f…`. */
export function newId(prefix: "run" | "thr" | "call"): string {
  if (used === stock.length) {
    stock = randomBytes(256 * ID_BYTES);
    used = 0;
  }
  return `${prefix}_${stock.toString("hex", used, (used += ID_BYTES))}`;
}

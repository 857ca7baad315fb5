import { randomBytes } from "node:crypto";

/** A typed id with 128 random bits, for example `run_9f…`. */
export function newId(prefix: "run" | "thr" | "call"): string {
  return `${prefix}_${randomBytes(16).toString("hex")}`;
}

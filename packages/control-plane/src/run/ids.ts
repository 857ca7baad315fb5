import { randomBytes } from "node:crypto";

/**
 * A typed id, for example `run_019f…`: 48 bits of time, then 80 random ones. Ids made together stand together in every index,
 * so that the rows of a commit share its pages.
 */
export function newId(prefix: "run" | "thr" | "call"): string {
  return `${prefix}_${Date.now().toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
}

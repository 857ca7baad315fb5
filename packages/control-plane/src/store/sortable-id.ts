import { randomBytes } from "node:crypto";

let counter = 0;

/** An id that sorts after those this process made before: breaks ties among rows of one millisecond. */
export function sortableId(prefix: string): string {
  counter = (counter + 1) % 0x1000000;
  const time = Date.now().toString(16).padStart(12, "0");
  return `${prefix}_${time}${counter.toString(16).padStart(6, "0")}${randomBytes(8).toString("hex")}`;
}

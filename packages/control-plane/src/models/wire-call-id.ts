import { randomUUID } from "node:crypto";

const PREFIX = "patchbay_";

/** An id for a call that its wire gave none. */
export function madeUpCallId(): string {
  return PREFIX + randomUUID();
}

/** True for an id that the provider has never seen. */
export function isMadeUpCallId(id: string): boolean {
  return id.startsWith(PREFIX);
}

import { setTimeout } from "@patchbay/kit/time";
import type { StoredAttempt } from "../channel.ts";

/** Calls in one message, whose ids stay far below the bus limit. */
export const BATCH = 1_000;
/** Acknowledgements within this time share a message. */
const GATHER_MS = 10;

/**
 * Reports to a runtime's host which results are stored, several in one message. If a message is lost, the host finds
 * them in the store.
 */
export function gatherAcknowledgements(send: (calls: StoredAttempt[]) => Promise<unknown>) {
  let gathered: StoredAttempt[] = [];

  function flush(): void {
    const calls = gathered;
    gathered = [];
    if (calls.length > 0) send(calls).catch(() => {});
  }

  return ({ callId, attempt }: StoredAttempt): void => {
    gathered.push({ callId, attempt });
    if (gathered.length === 1) setTimeout(flush, GATHER_MS);
    else if (gathered.length === BATCH) flush();
  };
}

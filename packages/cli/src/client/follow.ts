import { setTimeout as sleep } from "node:timers/promises";
import { isTerminal, type LiveEvent, type RunEvent } from "@patchbay/protocol";
import { CommandFailure } from "../failure.ts";
import { readEvents } from "./sse.ts";

export type AnyEvent = RunEvent | LiveEvent;

/** Tries in a row without one new event before a dropped stream counts as lost. */
const MAX_TRIES = 8;

/**
 * The events of a run to its last one. A stream that breaks off is taken up where it broke: `resume` asks for the events
 * after `lastId` (undefined: all of them), and gives undefined where nothing is left to send.
 */
export async function* followRun(
  first: Response,
  resume: (lastId: string | undefined) => Promise<Response | undefined>,
): AsyncGenerator<AnyEvent> {
  let response: Response | undefined = first;
  let lastId: string | undefined;
  let retryMs = 250;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      if (tries > 0) response = await resume(lastId);
      if (!response?.body) return;
      for await (const event of readEvents(response.body, (ms) => (retryMs = ms))) {
        const body = JSON.parse(event.data) as AnyEvent;
        lastId = event.id ?? lastId;
        tries = 0;
        yield body;
        if (isTerminal(body)) return;
      }
    } catch (error) {
      if (!isConnectionLoss(error)) throw error;
    }
    await sleep(Math.min(retryMs * 2 ** tries, 5000));
  }
  throw new CommandFailure("The connection was lost and could not be taken up again; the query itself goes on.");
}

/** True for what `fetch` and its body throw when the network or the other side fails. */
export function isConnectionLoss(error: unknown): boolean {
  return error instanceof TypeError && (error.message === "fetch failed" || error.message === "terminated");
}

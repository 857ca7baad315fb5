import type { ModelProvider, ModelRequest } from "@patchbay/control-plane";
import { unlessAborted } from "./unless-aborted.ts";

/** What one query's model was asked, and what went wrong in it. */
export interface Seat {
  readonly model: ModelProvider;
  readonly requests: ModelRequest[];
  readonly errors: unknown[];
}

/**
 * One provider for a control plane behind which each query has a model of its own: turns are told apart by their thread. A turn
 * that is asked for before its query is seated (a new thread's id is known only from the answer's headers) waits for it.
 */
export function createModelSwitch() {
  const seats = new Map<string, PromiseWithResolvers<Seat>>();

  function place(threadId: string): PromiseWithResolvers<Seat> {
    let found = seats.get(threadId);
    if (!found) seats.set(threadId, (found = Promise.withResolvers()));
    return found;
  }

  const provider: ModelProvider = {
    name: "test",
    async *stream(request, { signal }) {
      const seat = await unlessAborted(place(request.threadId).promise, signal);
      seat.requests.push({ ...request, messages: [...request.messages] });
      try {
        yield* seat.model.stream(request, { signal });
      } catch (error) {
        if (!signal.aborted) seat.errors.push(error);
        throw error;
      }
    },
  };

  return {
    provider,
    seat(threadId: string, seat: Seat): void {
      place(threadId).resolve(seat);
    },
    leave(threadId: string): void {
      seats.delete(threadId);
    },
  };
}

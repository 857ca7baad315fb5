import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import type { Log } from "../ports/log.ts";

/** Something to hear. */
export interface Want {
  subject: string;
  /** Of all that want the subject in the same queue, one is given each message. */
  queue?: string;
  take(message: Msg): void;
}

/** What is wanted now, subscribed on each connection that is attached. */
export interface Wants {
  /** Heard from now on, until disposed; what was sent to its queue by then is still taken. */
  add(want: Want): Disposable;
  attach(connection: NatsConnection): void;
  /** Stops hearing all, and resolves when nothing more comes. */
  drain(): Promise<void>;
}

export function createWants(log: Log): Wants {
  const wanted = new Map<Want, Subscription | undefined>();
  let connection: NatsConnection | undefined;

  function listen(want: Want): void {
    const { subject, queue } = want;
    const heard = connection?.isClosed()
      ? undefined
      : connection?.subscribe(subject, {
          ...(queue !== undefined && { queue }),
          callback(error, message) {
            if (error) log.error("bus subject refused", { subject, reason: error.message });
            else want.take(message);
          },
        });
    wanted.set(want, heard);
  }

  return {
    add(want) {
      listen(want);
      return {
        [Symbol.dispose]() {
          const heard = wanted.get(want);
          wanted.delete(want);
          // What was sent to a queue was sent to nobody else.
          if (want.queue === undefined) heard?.unsubscribe();
          else void drained(heard);
        },
      };
    },
    attach(attached) {
      connection = attached;
      for (const want of wanted.keys()) listen(want);
    },
    async drain() {
      const heard = [...wanted.values()];
      wanted.clear();
      connection = undefined;
      await Promise.all(heard.map(drained));
    },
  };
}

async function drained(heard: Subscription | undefined): Promise<void> {
  if (!heard || heard.isClosed()) return;
  // A connection that is lost meanwhile has ended the subscription as well.
  await Promise.race([heard.drain().catch(() => {}), heard.closed]);
}

import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type Log, present } from "@patchbay/kit";

/** A subject to receive. */
export interface Interest {
  subject: string;
  /** The server delivers each message to one subscriber per queue. */
  queue?: string;
  take(message: Msg): void;
}

/** Subscribes the current interests on each connection that is attached: a subscription ends with its connection. */
export function createSubscriptions(log: Log) {
  const interests = new Map<Interest, Subscription | undefined>();
  let attached: NatsConnection | undefined;

  function subscribe(interest: Interest): void {
    const { subject, queue } = interest;
    const connection = attached?.isClosed() ? undefined : attached;
    const subscription = connection?.subscribe(subject, {
      ...present({ queue }),
      callback: (error, message) => {
        if (error) log.error("bus subject refused", { subject, reason: error.message });
        else interest.take(message);
      },
    });
    interests.set(interest, subscription);
  }

  return {
    /** Receives until disposed; messages already sent to its queue are still processed. */
    add(interest: Interest): Disposable {
      subscribe(interest);
      return {
        [Symbol.dispose]: () => {
          const subscription = interests.get(interest);
          interests.delete(interest);
          // A message to a queue was delivered to no other subscriber, so dropping it would lose the request.
          if (interest.queue === undefined) subscription?.unsubscribe();
          else void drain(subscription);
        },
      };
    },
    attach(connection: NatsConnection): void {
      attached = connection;
      for (const interest of interests.keys()) subscribe(interest);
    },
    /** Ends every subscription, and resolves after the last message is processed. */
    async drain(): Promise<void> {
      const subscriptions = [...interests.values()];
      interests.clear();
      attached = undefined;
      await Promise.all(subscriptions.map(drain));
    },
  };
}

async function drain(subscription: Subscription | undefined): Promise<void> {
  if (!subscription || subscription.isClosed()) return;
  // If the connection is lost in the meantime, `drain` may never settle, but the subscription closes.
  await Promise.race([subscription.drain().catch(() => {}), subscription.closed]);
}

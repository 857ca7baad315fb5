import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import type { Log } from "@patchbay/kit";

/** A subject to receive. */
export interface Interest {
  subject: string;
  /** The server delivers each message to one subscriber per queue. */
  queue?: string;
  take(message: Msg): void;
}

/** Subscribes the current interests on each connection that is attached: a subscription ends with its connection. */
export class Subscriptions {
  readonly #log: Log;
  readonly #interests = new Map<Interest, Subscription | undefined>();
  #connection: NatsConnection | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Receives until disposed; messages already sent to its queue are still processed. */
  add(interest: Interest): Disposable {
    this.#subscribe(interest);
    return {
      [Symbol.dispose]: () => {
        const subscription = this.#interests.get(interest);
        this.#interests.delete(interest);
        // A message to a queue was delivered to no other subscriber, so dropping it would lose the request.
        if (interest.queue === undefined) subscription?.unsubscribe();
        else void drain(subscription);
      },
    };
  }

  attach(connection: NatsConnection): void {
    this.#connection = connection;
    for (const interest of this.#interests.keys()) this.#subscribe(interest);
  }

  /** Ends every subscription, and resolves after the last message is processed. */
  async drain(): Promise<void> {
    const subscriptions = [...this.#interests.values()];
    this.#interests.clear();
    this.#connection = undefined;
    await Promise.all(subscriptions.map(drain));
  }

  #subscribe(interest: Interest): void {
    const { subject, queue } = interest;
    const connection = this.#connection?.isClosed() ? undefined : this.#connection;
    const subscription = connection?.subscribe(subject, {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => {
        if (error) this.#log.error("bus subject refused", { subject, reason: error.message });
        else interest.take(message);
      },
    });
    this.#interests.set(interest, subscription);
  }
}

async function drain(subscription: Subscription | undefined): Promise<void> {
  if (!subscription || subscription.isClosed()) return;
  // If the connection is lost in the meantime, `drain` may never settle, but the subscription closes.
  await Promise.race([subscription.drain().catch(() => {}), subscription.closed]);
}

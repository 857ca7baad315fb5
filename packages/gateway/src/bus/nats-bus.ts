import { sleep } from "@patchbay/kit/time";
import { type JsonValue, type Log, silentLog } from "@patchbay/kit";
import type { Msg } from "@nats-io/transport-node";
import { NoResponders, type Bus } from "@patchbay/engine/ports/bus";
import { checkSubject, createMemoryBus, type RequestLimits } from "./memory-bus.ts";
import { keepConnected, type KeptConnection } from "./nats-connection.ts";
import { createRequestServer, decodeBody, encodeBody, requestRemote } from "./nats-requests.ts";
import { parseNatsAddresses } from "./nats-server.ts";
import { createSubscriptions } from "./nats-subscriptions.ts";

const START_MS = 5_000;
const DRAIN_MS = 2_000;
const QUEUE = "servers";

export interface NatsBusOptions {
  log?: Log;
  /** First tokens in every subject: deployments that share a server each use their own. Default `patchbay`. */
  prefix?: string;
  /** Time between two pings; a server that misses two is disconnected. Default 2,000. */
  pingMs?: number;
}

/**
 * Connects to the NATS servers in `urls` (see `parseNatsAddresses`) and reconnects until closed; resolves after five
 * seconds even if no server was reached. Within this process it works like the memory bus, connected or not. Other
 * replicas never receive what was published while disconnected. `close` waits for answers in progress.
 */
export async function createNatsBus(urls: string, { log = silentLog, ...options }: NatsBusOptions = {}): Promise<Bus> {
  const bus = new NatsBus(urls, { prefix: "patchbay", pingMs: 2_000, ...options, log });
  await bus.started();
  return bus;
}

class NatsBus implements Bus {
  readonly #prefix: string;
  readonly #log: Log;
  readonly #local: Bus;
  readonly #subscriptions: ReturnType<typeof createSubscriptions>;
  readonly #connection: KeptConnection;
  readonly #server: ReturnType<typeof createRequestServer>;
  /** One NATS subscription per subject serves all its subscribers in this process. */
  readonly #shared = new Map<string, { subscribers: number; interest: Disposable }>();
  #warned = false;
  #closing: Promise<void> | undefined;

  constructor(urls: string, { prefix, pingMs, log }: Required<NatsBusOptions>) {
    checkSubject(prefix);
    this.#prefix = prefix;
    this.#log = log;
    this.#local = createMemoryBus({ log });
    this.#subscriptions = createSubscriptions(log);
    this.#connection = keepConnected({
      addresses: parseNatsAddresses(urls),
      inboxPrefix: `${prefix}.inbox`,
      pingMs,
      attach: (connection) => this.#subscriptions.attach(connection),
      log,
    });
    this.#server = createRequestServer({ log, maxPayload: () => this.#connection.live?.info?.max_payload });
  }

  async started(): Promise<void> {
    await Promise.race([this.#connection.firstReached, sleep(START_MS, { ref: false })]);
  }

  get healthy(): boolean {
    return this.#connection.live !== undefined;
  }

  get reached(): boolean {
    return this.#connection.reached;
  }

  publish(subject: string, body: JsonValue): void {
    checkSubject(subject);
    const { live } = this.#connection;
    const data = live && encodeBody(body, live.info?.max_payload);
    // The remote publish comes first: a receiver in this process may publish in turn, and replicas must get that
    // second.
    if (data) {
      live.publish(this.#publishedAs(subject), data);
      this.#connection.wrote(data.length);
    }
    this.#local.publish(subject, body);
  }

  reaches(subject: string): boolean {
    return this.#connection.live !== undefined || this.#local.reaches(subject);
  }

  subscribe(subject: string, receive: (body: JsonValue) => void): Disposable {
    const local = this.#local.subscribe(subject, receive);
    if (this.#closing) return local;
    const subscription = new DisposableStack();
    subscription.use(this.#shareSubscription(subject));
    subscription.use(local);
    return subscription;
  }

  async request(
    subject: string,
    body: JsonValue,
    limits: RequestLimits & { signal?: AbortSignal },
  ): Promise<JsonValue> {
    try {
      return await this.#local.request(subject, body, limits);
    } catch (error) {
      if (!(error instanceof NoResponders)) throw error;
      return requestRemote(this.#connection, { subject, natsSubject: this.#requestedAs(subject), body }, limits);
    }
  }

  serve(subject: string, answer: (body: JsonValue) => Promise<JsonValue>): Disposable {
    const local = this.#local.serve(subject, answer);
    if (this.#closing) return local;
    let serves = true;
    const take = (message: Msg): void => {
      const decoded = this.#decode(message);
      if (decoded) this.#server.respond(message, decoded.body, serves && !this.#closing ? answer : undefined);
    };
    const serving = new DisposableStack();
    serving.use(this.#subscriptions.add({ subject: this.#requestedAs(subject), queue: QUEUE, take }));
    serving.defer(() => (serves = false));
    serving.use(local);
    return serving;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const drained = this.#subscriptions.drain().then(() => this.#server.idle());
    await Promise.race([drained, sleep(DRAIN_MS, { ref: false })]);
    await this.#connection.close();
    await this.#local.close();
  }

  // Two prefixes: if subscribers and servers shared a subject, the NATS server would count a subscriber as a responder,
  // and a request without a server would time out in place of failing immediately.
  #publishedAs(subject: string): string {
    return `${this.#prefix}.pub.${subject}`;
  }

  #requestedAs(subject: string): string {
    return `${this.#prefix}.ask.${subject}`;
  }

  #shareSubscription(subject: string): Disposable {
    const take = (message: Msg): void => {
      const decoded = this.#decode(message);
      if (decoded) this.#local.publish(subject, decoded.body);
    };
    const shared = this.#shared.get(subject) ?? {
      subscribers: 0,
      interest: this.#subscriptions.add({ subject: this.#publishedAs(subject), take }),
    };
    shared.subscribers++;
    this.#shared.set(subject, shared);
    return {
      [Symbol.dispose]: () => {
        if (--shared.subscribers > 0) return;
        this.#shared.delete(subject);
        shared.interest[Symbol.dispose]();
      },
    };
  }

  #decode(message: Msg): { body: JsonValue } | undefined {
    const decoded = decodeBody(message.data);
    if (!decoded && !this.#warned) {
      this.#warned = true;
      this.#log.warn("ignoring non-JSON bus message (logged once)", { subject: message.subject });
    }
    return decoded;
  }
}

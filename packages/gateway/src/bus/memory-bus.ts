import { type JsonValue, type Log, silentLog } from "@patchbay/kit";
import { NoResponders, RequestLost, type Bus } from "@patchbay/engine/ports/bus";

type Receive = (body: JsonValue) => void;
type Answer = (body: JsonValue) => Promise<JsonValue>;

/**
 * A bus within one process. It delivers bodies unchanged, in `publish` order; a body that a receiver publishes follows
 * the one being received. Servers on one subject take turns. When a receiver throws, the others still receive.
 */
export function createMemoryBus({ log = silentLog }: { log?: Log } = {}): Bus {
  const receivers = new BySubject<Receive>();
  const servers = new BySubject<Answer>();
  const queue: { receivers: Set<Entry<Receive>>; now: Entry<Receive>[]; subject: string; body: JsonValue }[] = [];
  let delivering = false;
  let closed = false;

  function deliver(): void {
    for (let next = queue.shift(); next; next = queue.shift()) {
      for (const receiver of next.now) {
        // An earlier receiver of this body may have ended the subscription.
        if (!next.receivers.has(receiver)) continue;
        try {
          receiver.item(next.body);
        } catch (error) {
          log.error("bus receiver failed", { subject: next.subject, err: error });
        }
      }
    }
  }

  return {
    healthy: true,
    reached: true,
    publish(subject, body) {
      checkSubject(subject);
      const current = receivers.of(subject);
      if (!current) return;
      queue.push({ receivers: current, now: [...current], subject, body });
      if (delivering) return;
      delivering = true;
      deliver();
      delivering = false;
    },
    reaches: (subject) => receivers.of(subject) !== undefined,
    subscribe(subject, receive) {
      checkSubject(subject);
      return closed ? DISPOSED : receivers.add(subject, receive);
    },
    async request(subject, body, limits) {
      checkSubject(subject);
      return withTimeout(limits, (answered, failed) => {
        const server = servers.next(subject);
        if (!server) return failed(new NoResponders(`no server for ${subject}`));
        const lost = (cause: unknown): void => failed(new RequestLost(`the server of ${subject} failed`, { cause }));
        // In an async function, so that an answer that throws synchronously also rejects the request as lost.
        void (async () => server(body))().then(answered, lost);
      });
    },
    serve(subject, answer) {
      checkSubject(subject);
      return closed ? DISPOSED : servers.add(subject, answer);
    },
    async close() {
      closed = true;
      receivers.clear();
      servers.clear();
    },
  };
}

const DISPOSED: Disposable = { [Symbol.dispose]() {} };

interface Entry<Item> {
  item: Item;
}

/** Items by subject, in insertion order. */
class BySubject<Item> {
  readonly #subjects = new Map<string, Set<Entry<Item>>>();

  of(subject: string): Set<Entry<Item>> | undefined {
    return this.#subjects.get(subject);
  }

  add(subject: string, item: Item): Disposable {
    const entries = this.#subjects.get(subject) ?? new Set();
    const entry = { item };
    this.#subjects.set(subject, entries.add(entry));
    return {
      [Symbol.dispose]: () => {
        entries.delete(entry);
        if (entries.size === 0 && this.#subjects.get(subject) === entries) this.#subjects.delete(subject);
      },
    };
  }

  /** The first item, which moves to the end: items take turns. */
  next(subject: string): Item | undefined {
    const entries = this.#subjects.get(subject);
    const [first] = entries ?? [];
    if (!entries || !first) return undefined;
    entries.delete(first);
    entries.add(first);
    return first.item;
  }

  clear(): void {
    // The sets are cleared too, so that a body being delivered reaches no further receiver after the bus is closed.
    for (const entries of this.#subjects.values()) entries.clear();
    this.#subjects.clear();
  }
}

const TOKENS = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

/**
 * Throws TypeError for a subject that a bus cannot carry. Subjects consist of ids and hashes, so this is a bug in the
 * caller.
 */
export function checkSubject(subject: string): void {
  if (TOKENS.test(subject)) return;
  throw new TypeError(
    `${JSON.stringify(subject)} is not a valid bus subject: join tokens with dots; a token is not empty and has no space, "*" or ">". Hash free text.`,
  );
}

/** How long a request may take, and what ends it early. */
export interface RequestLimits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Settles with the first call to `answered` or `failed`. Rejects with `RequestLost` after `timeoutMs` and with
 * `signal.reason` on abort. Does not call `send` when the signal is already aborted.
 */
export function withTimeout(
  { timeoutMs, signal }: RequestLimits,
  send: (answered: (body: JsonValue) => void, failed: (error: Error) => void) => void,
): Promise<JsonValue> {
  if (signal?.aborted) return Promise.reject(signal.reason as Error);
  const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
  const late = setTimeout(() => reject(new RequestLost(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => reject(signal?.reason as Error);
  signal?.addEventListener("abort", abort, { once: true });
  send(resolve, reject);
  return promise.finally(() => {
    clearTimeout(late);
    signal?.removeEventListener("abort", abort);
  });
}

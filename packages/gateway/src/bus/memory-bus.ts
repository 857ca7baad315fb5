import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { type JsonValue, type Log, silentLog } from "@patchbay/kit";
import { createKeyedSets } from "@patchbay/engine/ports/by-key";
import { NoResponders, RequestLost, type Bus } from "@patchbay/engine/ports/bus";

type Receiver = { receive: (body: JsonValue) => void };
type Answer = (body: JsonValue) => Promise<JsonValue>;

/**
 * A bus within one process. It delivers bodies unchanged, in `publish` order; a body that a receiver publishes follows
 * the one being received. Servers on one subject take turns. When a receiver throws, the others still receive.
 */
export function createMemoryBus({ log = silentLog }: { log?: Log } = {}): Bus {
  // Objects, so that one function may be added twice.
  const receivers = createKeyedSets<Receiver>();
  const servers = createKeyedSets<{ answer: Answer }>();
  const queue: { receivers: ReadonlySet<Receiver>; now: Receiver[]; subject: string; body: JsonValue }[] = [];
  let delivering = false;
  let closed = false;

  function deliver(): void {
    for (let next = queue.shift(); next; next = queue.shift()) {
      for (const receiver of next.now) {
        // An earlier receiver of this body may have ended the subscription, or closed the bus.
        if (closed || !next.receivers.has(receiver)) continue;
        try {
          receiver.receive(next.body);
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
      if (closed || current.size === 0) return;
      queue.push({ receivers: current, now: [...current], subject, body });
      if (delivering) return;
      delivering = true;
      deliver();
      delivering = false;
    },
    reaches: (subject) => !closed && receivers.of(subject).size > 0,
    subscribe(subject, receive) {
      checkSubject(subject);
      return closed ? DISPOSED : receivers.add(subject, { receive });
    },
    async request(subject, body, limits) {
      checkSubject(subject);
      return withTimeout(limits, (answered, failed) => {
        const server = closed ? undefined : servers.next(subject);
        if (!server) return failed(new NoResponders(`no server for ${subject}`));
        const lost = (cause: unknown): void => failed(new RequestLost(`the server of ${subject} failed`, { cause }));
        // In an async function, so that an answer that throws synchronously also rejects the request as lost.
        void (async () => server.answer(body))().then(answered, lost);
      });
    },
    serve(subject, answer) {
      checkSubject(subject);
      return closed ? DISPOSED : servers.add(subject, { answer });
    },
    async close() {
      closed = true;
    },
  };
}

const DISPOSED: Disposable = { [Symbol.dispose]() {} };

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
    clearTimer(late);
    signal?.removeEventListener("abort", abort);
  });
}

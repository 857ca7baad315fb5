import type { JsonValue } from "@patchbay/protocol";
import { NoResponders, RequestLost, type Bus } from "../ports/bus.ts";
import { silentLog, type Log } from "../ports/log.ts";
import { inTime } from "./in-time.ts";
import { checkSubject } from "./subject.ts";

type Receive = (body: JsonValue) => void;
type Answer = (body: JsonValue) => Promise<JsonValue>;

/**
 * The bus of a single process: bodies are handed over as they are, in the order they were published; what is published by a
 * receiver comes after what it is receiving. Servers of one subject take turns. A receiver that throws costs the others nothing.
 */
export function createMemoryBus({ log = silentLog }: { log?: Log } = {}): Bus {
  const receivers = keyed<Receive>();
  const servers = keyed<Answer>();
  const due: { to: Set<{ held: Receive }>; now: { held: Receive }[]; subject: string; body: JsonValue }[] = [];
  let delivering = false;
  let closed = false;

  function deliver(): void {
    for (let next = due.shift(); next; next = due.shift()) {
      for (const receiver of next.now) {
        if (!next.to.has(receiver)) continue;
        try {
          receiver.held(next.body);
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
      const to = receivers.of(subject);
      if (!to) return;
      due.push({ to, now: [...to], subject, body });
      if (delivering) return;
      delivering = true;
      deliver();
      delivering = false;
    },
    reaches: (subject) => receivers.of(subject) !== undefined,
    subscribe(subject, receive) {
      checkSubject(subject);
      return closed ? nothing() : receivers.add(subject, receive);
    },
    async request(subject, body, patience) {
      checkSubject(subject);
      return inTime(patience, (answered, failed) => {
        const server = servers.turn(subject);
        if (!server) {
          failed(new NoResponders(`nobody serves ${subject}`));
          return undefined;
        }
        const lose = (cause: unknown): void => failed(new RequestLost(`answering ${subject} failed`, { cause }));
        // In an async function, so that an answer that throws at once is lost like one that rejects.
        (async () => server(body))().then(answered, lose);
        return undefined;
      });
    },
    serve(subject, answer) {
      checkSubject(subject);
      return closed ? nothing() : servers.add(subject, answer);
    },
    async close() {
      closed = true;
      receivers.clear();
      servers.clear();
    },
  };
}

function nothing(): Disposable {
  return { [Symbol.dispose]() {} };
}

/** Things held under a subject, in the order they came. */
function keyed<Thing>() {
  const subjects = new Map<string, Set<{ held: Thing }>>();
  return {
    of: (subject: string) => subjects.get(subject),
    add(subject: string, held: Thing): Disposable {
      const things = subjects.get(subject) ?? new Set();
      const thing = { held };
      subjects.set(subject, things.add(thing));
      return {
        [Symbol.dispose]() {
          things.delete(thing);
          if (things.size === 0 && subjects.get(subject) === things) subjects.delete(subject);
        },
      };
    },
    /** The one whose turn it is; it goes to the end of the line. */
    turn(subject: string): Thing | undefined {
      const things = subjects.get(subject);
      const [first] = things ?? [];
      if (!things || !first) return undefined;
      things.delete(first);
      things.add(first);
      return first.held;
    },
    clear(): void {
      // The sets too: a body on its way reaches nobody after the bus is closed.
      for (const things of subjects.values()) things.clear();
      subjects.clear();
    },
  };
}

import { setImmediate, setTimeout } from "@patchbay/kit/time";
import type { JsonValue } from "@patchbay/kit";
import { WAIT_MS } from "@patchbay/test-support/patience";
import { withTimeout } from "../src/bus/memory-bus.ts";
import { createMemoryBus } from "../src/bus/memory-bus.ts";
import { type Bus, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";

/** One message from one replica to another. */
export interface Message {
  kind: "publish" | "request" | "reply";
  from: string;
  to: string;
  subject: string;
  body: JsonValue;
  /** Its kind and type: `request call`, `reply check`, `publish stored`, `publish runtimes`. */
  label: string;
  /** Counts the messages of this label, from 1. */
  nth: number;
}

/** `until`: the message is delivered when this resolves. */
export type Fate = "pass" | "drop" | "twice" | { delayMs: number } | { until: Promise<void> };

interface Endpoint {
  name: string;
  inner: Bus;
  served: Map<string, number>;
  /** `cut`: disconnected, and aware of it. `frozen`: connected, but neither sends nor receives. `dead`: has stopped. */
  state: "on" | "cut" | "frozen" | "dead";
}

/** A bus between the replicas of one test, on which `fate` loses, delays or repeats any message. */
export function createBusHub() {
  const endpoints = new Map<string, Endpoint>();
  const counts = new Map<string, number>();
  const hub = {
    /** Every message so far, as `label nth`. */
    carried: [] as string[],
    fate: (() => "pass") as (message: Message) => Fate,
    /**
     * The time limit of a request applies only when one of its messages is lost or late: otherwise a pause of the test's process would
     * look like a loss. False: it applies always.
     */
    isPatient: true,
    join,
    /** Loses the answers that hosts offer: the hosts then store them. */
    loseAnswers() {
      hub.fate = ({ label }) => (label === "publish answered" ? "drop" : "pass");
    },
    set(name: string, state: Endpoint["state"]) {
      endpoints.get(name)!.state = state;
    },
  };

  function carry(
    message: Omit<Message, "body" | "label" | "nth">,
    about: string,
    body: JsonValue,
    hand: (body: JsonValue) => void,
    late?: () => void,
  ): void {
    const label = `${message.kind} ${about}`;
    const nth = (counts.get(label) ?? 0) + 1;
    counts.set(label, nth);
    hub.carried.push(`${label} ${nth}`);
    const fate = hub.fate({ ...message, body, label, nth });
    const text = JSON.stringify(body);
    const deliver = (): void => {
      if (endpoints.get(message.to)?.state === "on" && endpoints.get(message.from)?.state !== "frozen")
        hand(JSON.parse(text) as JsonValue);
      else late?.();
    };
    if (fate === "drop" || typeof fate === "object") late?.();
    if (fate === "drop") return;
    if (typeof fate === "object") {
      if ("until" in fate) void fate.until.then(deliver);
      else setTimeout(deliver, fate.delayMs);
      return;
    }
    setImmediate(deliver);
    if (fate === "twice") setImmediate(deliver);
  }

  function join(name: string): Bus {
    const self: Endpoint = { name, inner: createMemoryBus(), served: new Map(), state: "on" };
    endpoints.set(name, self);

    function serverOf(subject: string): Endpoint | undefined {
      return [...endpoints.values()].find(
        ({ state, served }) => (state === "on" || state === "frozen") && (served.get(subject) ?? 0) > 0,
      );
    }

    function ask(server: Endpoint, subject: string, body: JsonValue, patience: { timeoutMs: number }) {
      const about = typeOf(body);
      const there = { kind: "request", from: name, to: server.name, subject } as const;
      const back = { kind: "reply", from: server.name, to: name, subject } as const;
      const { timeoutMs } = patience;
      const limits = hub.isPatient ? { ...patience, timeoutMs: Math.max(timeoutMs, WAIT_MS) } : patience;
      return withTimeout(limits, (answered, failed) => {
        const late = () =>
          void setTimeout(() => failed(new RequestLost(`no answer within ${timeoutMs} ms`)), timeoutMs).unref();
        const handRequest = (body: JsonValue): void => {
          server.inner.request(subject, body, { timeoutMs: WAIT_MS }).then(
            (answer) => carry(back, about, answer, answered, late),
            (error: unknown) =>
              carry(back, about, null, () => failed(new RequestLost("failed", { cause: error })), late),
          );
        };
        carry(there, about, body, handRequest, late);
      });
    }

    return {
      get healthy() {
        return self.state === "on";
      },
      reached: true,
      publish(subject, body) {
        self.inner.publish(subject, body);
        if (self.state !== "on") return;
        const about = subject === "runtimes" ? subject : typeOf(body);
        for (const other of endpoints.values()) {
          if (other === self || (subject.startsWith("replica.") && subject !== `replica.${other.name}`)) continue;
          const message = { kind: "publish", from: name, to: other.name, subject } as const;
          carry(message, about, body, (body) => other.inner.publish(subject, body));
        }
      },
      reaches: (subject) => self.state === "on" || self.inner.reaches(subject),
      subscribe: (subject, receive) => self.inner.subscribe(subject, receive),
      async request(subject, body, options) {
        if (self.served.get(subject)) return self.inner.request(subject, body, options);
        const server = self.state === "on" ? serverOf(subject) : undefined;
        if (!server) throw new NoResponders(`no server for ${subject}`);
        return ask(server, subject, body, options);
      },
      serve(subject, answer) {
        const serving = self.inner.serve(subject, answer);
        self.served.set(subject, (self.served.get(subject) ?? 0) + 1);
        return {
          [Symbol.dispose]() {
            serving[Symbol.dispose]();
            self.served.set(subject, self.served.get(subject)! - 1);
          },
        };
      },
      close: () => self.inner.close(),
    };
  }

  return hub;
}

function typeOf(body: JsonValue): string {
  const named = typeof body === "object" && body !== null && "type" in body;
  return named && typeof body.type === "string" ? body.type : "?";
}

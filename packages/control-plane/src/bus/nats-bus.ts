import { setTimeout as wait } from "node:timers/promises";
import type { JsonValue } from "@patchbay/protocol";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { MAX_BODY_BYTES, NoResponders, RequestLost, type Bus } from "../ports/bus.ts";
import { silentLog, type Log } from "../ports/log.ts";
import { inTime, type Patience } from "./in-time.ts";
import { createMemoryBus } from "./memory-bus.ts";
import { parseNatsAddresses } from "./nats-address.ts";
import { keepNatsLine } from "./nats-line.ts";
import { createServing } from "./nats-serving.ts";
import { createWants } from "./nats-wants.ts";
import { decodeBody, decodeReply, encodeBody } from "./nats-wire.ts";
import { checkSubject } from "./subject.ts";

const START_MS = 5_000;
const FAREWELL_MS = 2_000;
const QUEUE = "servers";

export interface NatsBusOptions {
  log?: Log;
  /** First tokens of every subject: deployments that share a server each have their own. Default `patchbay`. */
  prefix?: string;
  /** Time between two pings; a server that misses two is left. Default 2,000. */
  pingMs?: number;
}

/**
 * Connects to the NATS servers of `urls` (see `parseNatsAddresses`) and goes on trying for ever; resolves after five seconds
 * when none was reached. Inside this process it works with or without a server, as the memory bus does. What is published while there is
 * no connection reaches this process alone, now and later. `close` lets answers under way go out.
 */
export async function createNatsBus(urls: string, options: NatsBusOptions = {}): Promise<Bus> {
  const { log = silentLog, prefix = "patchbay", pingMs = 2_000 } = options;
  checkSubject(prefix);
  const local = createMemoryBus({ log });
  const wants = createWants(log);
  const line = keepNatsLine({
    addresses: parseNatsAddresses(urls),
    inboxPrefix: `${prefix}.inbox`,
    pingMs,
    attach: (connection) => wants.attach(connection),
    log,
  });
  const serving = createServing({ log, maxPayload: () => line.live?.info?.max_payload });
  // Kept apart: to the server a subscriber would be one who may answer.
  const published = (subject: string): string => `${prefix}.pub.${subject}`;
  const asked = (subject: string): string => `${prefix}.ask.${subject}`;
  const heard = new Map<string, { times: number; want: Disposable }>();
  let warned = false;
  let closing: Promise<void> | undefined;

  function bodyOf(message: Msg): { body: JsonValue } | undefined {
    const decoded = decodeBody(message.data);
    if (!decoded && !warned) {
      warned = true;
      log.warn("bus message is no JSON, ignored; there will be no further word of such", { subject: message.subject });
    }
    return decoded;
  }

  /** One subscription for all who hear the subject here. */
  function hear(subject: string): Disposable {
    const shared = heard.get(subject) ?? { times: 0, want: wants.add({ subject: published(subject), take }) };
    shared.times++;
    heard.set(subject, shared);
    function take(message: Msg): void {
      const decoded = bodyOf(message);
      if (decoded) local.publish(subject, decoded.body);
    }
    return onlyOnce(() => {
      if (--shared.times > 0) return;
      heard.delete(subject);
      shared.want[Symbol.dispose]();
    });
  }

  function requestRemote(subject: string, body: JsonValue, patience: Patience): Promise<JsonValue> {
    const { live } = line;
    if (!live) return Promise.reject(new NoResponders(`nobody serves ${subject} here, and the bus is out of reach`));
    const data = encodeBody(body, live.info?.max_payload);
    if (!data)
      return Promise.reject(
        new NoResponders(
          `the request to ${subject} is larger than the bus carries (${MAX_BODY_BYTES} bytes): send an id`,
        ),
      );
    return inTime(patience, (answered, failed) => {
      ask(live, { subject, data, timeoutMs: patience.timeoutMs }).then(answered, failed);
      return undefined;
    });
  }

  async function ask(
    live: NatsConnection,
    { subject, data, timeoutMs }: { subject: string; data: Uint8Array; timeoutMs: number },
  ): Promise<JsonValue> {
    const request = live.request(asked(subject), data, { timeout: Math.max(1, timeoutMs) });
    line.wrote(data.length);
    const message = await request.catch((error: unknown) => {
      if (isNoResponders(error)) throw new NoResponders(`nobody serves ${subject}`);
      throw new RequestLost(`the request to ${subject} was lost`, { cause: error });
    });
    const reply = decodeReply(message.data);
    if ("answer" in reply) return reply.answer;
    if ("declined" in reply) throw new NoResponders(`nobody serves ${subject} any more`);
    throw new RequestLost(`answering ${subject} failed`);
  }

  async function close(): Promise<void> {
    const drained = wants.drain().then(() => serving.idle());
    await Promise.race([drained, wait(FAREWELL_MS, undefined, { ref: false })]);
    await line.close();
    await local.close();
  }

  await Promise.race([line.firstReached, wait(START_MS, undefined, { ref: false })]);
  return {
    get healthy() {
      return line.live !== undefined;
    },
    get reached() {
      return line.reached;
    },
    publish(subject, body) {
      checkSubject(subject);
      const { live } = line;
      const data = live && encodeBody(body, live.info?.max_payload);
      // Before it is handed over here: a receiver may publish in its turn, and that comes after.
      if (data) live.publish(published(subject), data);
      if (data) line.wrote(data.length);
      local.publish(subject, body);
    },
    reaches: (subject) => line.live !== undefined || local.reaches(subject),
    subscribe(subject, receive) {
      const here = local.subscribe(subject, receive);
      return closing ? here : both(here, hear(subject));
    },
    async request(subject, body, patience) {
      try {
        return await local.request(subject, body, patience);
      } catch (error) {
        if (!(error instanceof NoResponders)) throw error;
        return requestRemote(subject, body, patience);
      }
    },
    serve(subject, answer) {
      const here = local.serve(subject, answer);
      if (closing) return here;
      let serves = true;
      function take(message: Msg): void {
        const decoded = bodyOf(message);
        if (decoded) serving.respond(message, decoded.body, serves && !closing ? answer : undefined);
      }
      const away = wants.add({ subject: asked(subject), queue: QUEUE, take });
      return both(
        here,
        both(
          onlyOnce(() => (serves = false)),
          away,
        ),
      );
    },
    close: () => (closing ??= close()),
  };
}

function isNoResponders(error: unknown): boolean {
  return (
    error instanceof Error && "isNoResponders" in error && (error as { isNoResponders(): boolean }).isNoResponders()
  );
}

function onlyOnce(dispose: () => void): Disposable {
  let disposed = false;
  return {
    [Symbol.dispose]() {
      if (!disposed) dispose();
      disposed = true;
    },
  };
}

function both(first: Disposable, second: Disposable): Disposable {
  return {
    [Symbol.dispose]() {
      first[Symbol.dispose]();
      second[Symbol.dispose]();
    },
  };
}

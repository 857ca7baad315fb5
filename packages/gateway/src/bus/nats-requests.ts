import { isJsonObject, type JsonValue, type Log } from "@patchbay/kit";
import type { Msg, NatsConnection } from "@nats-io/transport-node";
import { MAX_BODY_BYTES, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import type { KeptConnection } from "./nats-connection.ts";
import { type RequestLimits, withTimeout } from "./memory-bus.ts";

/** Sends a request to another replica. `natsSubject` is `subject` as the server knows it. */
export async function requestRemote(
  connection: KeptConnection,
  { subject, natsSubject, body }: { subject: string; natsSubject: string; body: JsonValue },
  limits: RequestLimits,
): Promise<JsonValue> {
  const { live } = connection;
  if (!live) throw new NoResponders(`no server for ${subject} in this process, and the bus is disconnected`);
  const data = encodeBody(body, live.info?.max_payload);
  if (!data)
    throw new NoResponders(
      `the request to ${subject} exceeds the limit of the bus (${MAX_BODY_BYTES} bytes): send an id`,
    );
  return withTimeout(limits, (answered, failed) => {
    const request = live.request(natsSubject, data, { timeout: Math.max(1, limits.timeoutMs) });
    connection.wrote(data.length);
    readAnswer(subject, request).then(answered, failed);
  });
}

async function readAnswer(subject: string, request: ReturnType<NatsConnection["request"]>): Promise<JsonValue> {
  const message = await request.catch((error: unknown) => {
    if (isNoResponders(error)) throw new NoResponders(`no server for ${subject}`);
    throw new RequestLost(`the request to ${subject} was lost`, { cause: error });
  });
  const reply = decodeReply(message.data);
  if ("answer" in reply) return reply.answer;
  if ("declined" in reply) throw new NoResponders(`the server of ${subject} has stopped serving it`);
  throw new RequestLost(`the server of ${subject} failed`);
}

function isNoResponders(error: unknown): boolean {
  return (
    error instanceof Error && "isNoResponders" in error && (error as { isNoResponders(): boolean }).isNoResponders()
  );
}

/** Answers requests from other replicas. */
export function createRequestServer({ log, maxPayload }: { log: Log; maxPayload: () => number | undefined }) {
  const inProgress = new Set<Promise<void>>();

  async function run(subject: string, answer: () => Promise<JsonValue>): Promise<Reply> {
    try {
      return { answer: await answer() };
    } catch (error) {
      log.warn("bus request failed", { subject, err: error });
      return { failed: true };
    }
  }

  function respond(message: Msg, reply: Reply): void {
    try {
      message.respond(encodeReply(reply, maxPayload()));
    } catch {
      // The request's connection is closed, and the requester counts the request as lost.
    }
  }

  return {
    /** Answers one request with `answer`; declines it when `answer` is undefined. */
    respond(message: Msg, body: JsonValue, answer: ((body: JsonValue) => Promise<JsonValue>) | undefined): void {
      if (!answer) return respond(message, { declined: true });
      const answered = run(message.subject, async () => answer(body)).then((reply) => respond(message, reply));
      inProgress.add(answered);
      void answered.finally(() => inProgress.delete(answered));
    },
    /** Resolves when no answer is in progress. */
    async idle(): Promise<void> {
      while (inProgress.size > 0) await Promise.all(inProgress);
    },
  };
}

/** The body as bytes; undefined when it exceeds the bus limit or the server's `maxPayload`. */
export function encodeBody(body: JsonValue, maxPayload = MAX_BODY_BYTES): Uint8Array | undefined {
  const bytes = Buffer.from(JSON.stringify(body));
  return bytes.length <= Math.min(MAX_BODY_BYTES, maxPayload) ? bytes : undefined;
}

/** How a request ended at its server. `declined`: the server stopped serving the subject before the request arrived. */
type Reply = { answer: JsonValue } | { failed: true } | { declined: true };

/** A reply as bytes; an answer that is too large becomes `failed`. */
function encodeReply(reply: Reply, maxPayload = MAX_BODY_BYTES): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(reply));
  const fits = !("answer" in reply) || (encodeBody(reply.answer) !== undefined && bytes.length <= maxPayload);
  return fits ? bytes : encodeReply({ failed: true });
}

/** Undefined when the bytes are not JSON. */
export function decodeBody(bytes: Uint8Array): { body: JsonValue } | undefined {
  try {
    return { body: JSON.parse(Buffer.from(bytes).toString()) as JsonValue };
  } catch {
    return undefined;
  }
}

/** An unreadable reply counts as `failed`, not as `declined`: a server may have taken the request. */
function decodeReply(bytes: Uint8Array): Reply {
  const { body } = decodeBody(bytes) ?? {};
  if (!isJsonObject(body)) return { failed: true };
  if (body.answer !== undefined) return { answer: body.answer };
  return body.declined === true ? { declined: true } : { failed: true };
}

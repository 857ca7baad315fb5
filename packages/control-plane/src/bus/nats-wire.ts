import { isJsonObject, type JsonValue } from "@patchbay/protocol";
import { MAX_BODY_BYTES } from "../ports/bus.ts";

/** The body as bytes, undefined when it is larger than a bus takes or than `maxPayload` of the server. */
export function encodeBody(body: JsonValue, maxPayload = MAX_BODY_BYTES): Uint8Array | undefined {
  const bytes = Buffer.from(JSON.stringify(body));
  return bytes.length <= Math.min(MAX_BODY_BYTES, maxPayload) ? bytes : undefined;
}

/** How a request ended at the one who took it; `declined` when it came too late to be taken. */
export type Reply = { answer: JsonValue } | { failed: true } | { declined: true };

export function encodeReply(reply: Reply, maxPayload = MAX_BODY_BYTES): Uint8Array {
  const bytes = Buffer.from(JSON.stringify(reply));
  const fits = !("answer" in reply) || (encodeBody(reply.answer) !== undefined && bytes.length <= maxPayload);
  return fits ? bytes : encodeReply({ failed: true });
}

/** Undefined for what is no JSON. */
export function decodeBody(bytes: Uint8Array): { body: JsonValue } | undefined {
  try {
    return { body: JSON.parse(Buffer.from(bytes).toString()) as JsonValue };
  } catch {
    return undefined;
  }
}

/** What makes no sense counts as failed: somebody may have taken the request. */
export function decodeReply(bytes: Uint8Array): Reply {
  const { body } = decodeBody(bytes) ?? {};
  if (!isJsonObject(body)) return { failed: true };
  if (body.answer !== undefined) return { answer: body.answer };
  return body.declined === true ? { declined: true } : { failed: true };
}

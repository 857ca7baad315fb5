import { isJsonObject, type JsonValue } from "@patchbay/kit";
import { MAX_BODY_BYTES } from "@patchbay/engine/ports/bus";

/** The body as bytes; undefined when it exceeds the bus limit or the server's `maxPayload`. */
export function encodeBody(body: JsonValue, maxPayload = MAX_BODY_BYTES): Uint8Array | undefined {
  const bytes = Buffer.from(JSON.stringify(body));
  return bytes.length <= Math.min(MAX_BODY_BYTES, maxPayload) ? bytes : undefined;
}

/** How a request ended at its server. `declined`: the server stopped serving the subject before the request arrived. */
export type Reply = { answer: JsonValue } | { failed: true } | { declined: true };

/** A reply as bytes; an answer that is too large becomes `failed`. */
export function encodeReply(reply: Reply, maxPayload = MAX_BODY_BYTES): Uint8Array {
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
export function decodeReply(bytes: Uint8Array): Reply {
  const { body } = decodeBody(bytes) ?? {};
  if (!isJsonObject(body)) return { failed: true };
  if (body.answer !== undefined) return { answer: body.answer };
  return body.declined === true ? { declined: true } : { failed: true };
}

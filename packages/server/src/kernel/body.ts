import { createHash } from "node:crypto";
import { inexactMessage, inexactNumber, isJsonObject, parseJson, type ParsedJson } from "@patchbay/kit";
import { LIMITS } from "@patchbay/protocol";
import { ownTurn } from "@patchbay/engine/ports/own-turn";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Exchange } from "./exchange.ts";

/** A body as received. Bodies above the limit are not kept. */
export type RawBody = { tooLarge: false; bytes: Uint8Array } | { tooLarge: true; maxBytes: number };

const JSON_TYPE = /^application\/json\s*(;|$)/i;
const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;
/** Names for UTF-8 and for ASCII, its subset. */
const UTF_8 = /^(utf-?8|us-ascii)$/i;
/** A larger body takes milliseconds to parse as JSON. */
const LARGE_BYTES = 65_536;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads up to the limit, counting bytes as they arrive: headers may lie. A large body waits for its own turn. */
export async function readBody(exchange: Exchange, maxBytes: number = LIMITS.bodyBytes): Promise<RawBody> {
  const raw = await received(exchange, maxBytes);
  if (!raw.tooLarge && raw.bytes.byteLength > LARGE_BYTES) await ownTurn();
  return raw;
}

async function received({ c }: Exchange, maxBytes: number): Promise<RawBody> {
  const claimed = c.req.header("Content-Length");
  if (claimed !== undefined && Number(claimed) > maxBytes) return { tooLarge: true, maxBytes };
  try {
    // The server's parser returns exactly Content-Length bytes; reading them in one call is cheaper.
    if (claimed !== undefined) return { tooLarge: false, bytes: new Uint8Array(await c.req.raw.arrayBuffer()) };
    return await readCounted(c.req.raw.body, maxBytes);
  } catch (cause) {
    throw new ServiceError("invalid_request", "The body ended before it was complete.", { cause });
  }
}

async function readCounted(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<RawBody> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  if (body) {
    const reader = body.getReader();
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      size += step.value.byteLength;
      if (size > maxBytes) return { tooLarge: true, maxBytes };
      chunks.push(step.value);
    }
  }
  return { tooLarge: false, bytes: Buffer.concat(chunks, size) };
}

/** Rejects compressed bodies and all but UTF-8 JSON. Ignores other parameters of the content type. */
export function requireJsonType({ c }: Exchange): void {
  const coding = c.req.header("Content-Encoding");
  if (coding !== undefined && !/^(identity)?$/i.test(coding.trim()))
    throw new ServiceError("unsupported_media_type", "The body is compressed. Send it without Content-Encoding.");
  const type = c.req.header("Content-Type") ?? "";
  const charset = CHARSET.exec(type)?.[1];
  if (JSON_TYPE.test(type) && (charset === undefined || UTF_8.test(charset))) return;
  throw new ServiceError(
    "unsupported_media_type",
    "The body must be JSON in UTF-8: send Content-Type: application/json.",
  );
}

/**
 * Throws `payload_too_large` or `invalid_request`. `exact` rejects numbers that parsing would change: functions must
 * receive a body's context exactly as the client sent it.
 */
export function parseBody(raw: RawBody, exact = false): unknown {
  if (raw.tooLarge) throw new ServiceError("payload_too_large", `The body may have at most ${raw.maxBytes} bytes.`);
  const parsed = parseBytes(raw.bytes, exact);
  if (parsed.ok) return parsed.value;
  throw new ServiceError("invalid_request", `The body ${parsed.message}.`, {
    details: [{ path: "", message: parsed.message }],
  });
}

function parseBytes(bytes: Uint8Array, exact = false): ParsedJson {
  const text = decoded(bytes);
  if (text === undefined) return { ok: false, message: "is not valid UTF-8" };
  const parsed = parseJson(text);
  const inexact = exact && parsed.ok ? inexactNumber(text) : undefined;
  return inexact === undefined ? parsed : { ok: false, message: inexactMessage(inexact) };
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

interface Receiving {
  /** Counts the request. Default: it is not counted. */
  limiter?: () => Promise<void>;
  maxBytes?: number;
  exact?: boolean;
}

/** Counts a request, then checks, reads and parses its JSON body: the order of the HTTP contract. */
export async function receiveJson(exchange: Exchange, { limiter, maxBytes, exact }: Receiving = {}): Promise<unknown> {
  await limiter?.();
  requireJsonType(exchange);
  return parseBody(await readBody(exchange, maxBytes), exact);
}

/**
 * Identifies a body for its Idempotency-Key: equal JSON has equal hashes, whatever its spacing and property order. All
 * bodies above the limit share a constant, because they never start a run.
 */
export function hashBody(raw: RawBody): string {
  if (raw.tooLarge) return "too-large";
  const parsed = parseBytes(raw.bytes);
  return parsed.ok ? hashJson(parsed.value) : sha256(raw.bytes);
}

/** Like `hashBody`, for parsed JSON. */
export function hashJson(value: unknown): string {
  return sha256(JSON.stringify(value, sortMembers));
}

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function sortMembers(_name: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

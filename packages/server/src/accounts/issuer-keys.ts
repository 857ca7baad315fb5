import { timeoutSignal } from "@patchbay/kit/time";
import { isJsonObject, isLoopback, type Log } from "@patchbay/kit";
import type { createLocalJWKSet, JSONWebKeySet, JWTVerifyGetKey } from "jose";
import type { Clock } from "@patchbay/engine/ports/clock";
import { trueCause } from "@patchbay/engine/ports/open-files";

/** Keys are read again after this time at the latest, so that a key that the issuer withdrew is soon refused. */
const FRESH_MS = 10 * 60_000;
/** While the issuer is unreachable, callers with known keys continue until this age. */
const KEPT_SECONDS = 3_600;
/** Tokens with an unknown `kid` cost their sender nothing, so they must not cause as many requests to the issuer. */
const UNKNOWN_KID_MS = 60_000;
const RETRY_MS = 5_000;
const FETCH_MS = 5_000;
const MAX_BYTES = 256 * 1_024;
const METADATA = "/.well-known/openid-configuration";

/** The location of an issuer's public keys. */
export interface KeySource {
  issuer: string;
  /** Default: `jwks_uri` in the issuer's openid-configuration. */
  jwksUrl?: string;
  /** The age until which known keys are used. Default 3,600; they are read again after 600 s at the latest. */
  keysMaxAgeSeconds?: number;
}

/** The issuer's keys cannot be read. */
export class IssuerUnreachable extends Error {
  override readonly name = "IssuerUnreachable";
}

/** The key that verifies a token. Rejects as `createLocalJWKSet` does, and with `IssuerUnreachable`. */
export function createIssuerKeys(
  source: KeySource,
  deps: { toKeySet: typeof createLocalJWKSet; clock: Pick<Clock, "now">; log: Log },
): JWTVerifyGetKey {
  const { toKeySet, clock, log } = deps;
  const keptMs = (source.keysMaxAgeSeconds ?? KEPT_SECONDS) * 1_000;
  let keys: { find: JWTVerifyGetKey; readAt: number } | undefined;
  let failure: { error: IssuerUnreachable; at: number } | undefined;
  let unknownKidAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<JWTVerifyGetKey> | undefined;

  async function readKeys(): Promise<JWTVerifyGetKey> {
    // The issuer may withdraw a key while its answer is in transit.
    const readAt = clock.now();
    try {
      const find = toKeySet(await fetchKeys(source));
      keys = { find, readAt };
      failure = undefined;
      return find;
    } catch (thrown) {
      const cause = await trueCause(thrown);
      const error = new IssuerUnreachable(`The keys of ${source.issuer} cannot be read`, { cause });
      failure = { error, at: clock.now() };
      log.warn("the keys of the callers' issuer cannot be read", { issuer: source.issuer, cause });
      throw error;
    } finally {
      reading = undefined;
    }
  }

  /** Concurrent requests share one read. */
  const read = (): Promise<JWTVerifyGetKey> => (reading ??= readKeys());

  async function current(): Promise<JWTVerifyGetKey> {
    const now = clock.now();
    const age = keys ? now - keys.readAt : Number.POSITIVE_INFINITY;
    if (keys && age < Math.min(FRESH_MS, keptMs)) return keys.find;
    const failed = failure && now - failure.at < RETRY_MS ? failure.error : undefined;
    if (!keys || age >= keptMs) {
      if (failed) throw failed;
      return await read();
    }
    // Requests do not wait for the issuer while the known keys are recent enough.
    if (!failed) void read().catch(() => {});
    return keys.find;
  }

  return async (header, token) => {
    const find = await current();
    try {
      return await find(header, token);
    } catch (error) {
      if (!isUnknownKey(error)) throw error;
      const now = clock.now();
      if (!reading && now - unknownKidAt < UNKNOWN_KID_MS) throw error;
      if (!reading) unknownKidAt = now;
      const renewed = await read().catch(() => undefined);
      if (!renewed) throw error;
      return await renewed(header, token);
    }
  };
}

const isUnknownKey = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_JWKS_NO_MATCHING_KEY";

async function fetchKeys({ issuer, jwksUrl }: KeySource): Promise<JSONWebKeySet> {
  return (await fetchJson(jwksUrl ?? (await jwksUrlOf(issuer)))) as JSONWebKeySet;
}

async function jwksUrlOf(issuer: string): Promise<string> {
  const url = issuer.replace(/\/$/, "") + METADATA;
  const metadata = await fetchJson(url);
  if (!isJsonObject(metadata)) throw new Error(`${url} is not a JSON object`);
  // OpenID Connect Discovery, section 4.3: another issuer's metadata must not be used.
  if (metadata["issuer"] !== issuer)
    throw new Error(`${url} names the issuer ${JSON.stringify(metadata["issuer"])}, not ${issuer}`);
  const named = metadata["jwks_uri"];
  if (typeof named !== "string" || !isTrustworthy(named)) throw new Error(`${url} has no jwks_uri with https`);
  return named;
}

/** True for TLS addresses, and for this machine's. */
export function isTrustworthy(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname)));
}

async function fetchJson(url: string): Promise<unknown> {
  const response = await fetch(url, {
    headers: { Accept: "application/json" },
    redirect: "error",
    signal: timeoutSignal(FETCH_MS),
  });
  if (!response.ok || !response.body) throw new Error(`${url} answered with status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`${url} answered with more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}

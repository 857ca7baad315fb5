import { isJsonObject, type JsonObject, type JsonValue, type Log, nestsDeeper } from "@patchbay/kit";
import { LIMITS } from "@patchbay/protocol";
import type { JWTHeaderParameters, JWTPayload } from "jose";
import { callerIdsOf, type ProvenCaller } from "@patchbay/engine/ports/callers";
import type { Clock } from "@patchbay/engine/ports/clock";
import { isOutOfFiles, OUT_OF_FILES } from "@patchbay/engine/ports/open-files";
import { ServiceError, standardError } from "@patchbay/engine/ports/service-error";
import { createIssuerKeys, isTrustworthy, IssuerUnreachable, type KeySource } from "./issuer-keys.ts";

/** The identity provider whose tokens name callers, and what Patchbay reads from them. */
export interface CallerIssuer extends KeySource {
  /**
   * The required `aud` in tokens. Tokens of callers without a key may have the agent's address instead, which is also the
   * default; it needs the server's public URL.
   */
  audience?: string;
  /**
   * The claim with the caller's role, or a list of roles: a name, or a JSON Pointer such as `/realm_access/roles`. Default:
   * queries state their role, and callers without a key have none.
   */
  roleClaim?: string;
  /** The role for each value of the role claim, such as a group's id. Other values are ignored. Default: the values. */
  roleMap?: Readonly<Record<string, string>>;
  /** Claims that become members of the context, as `CLAIM` or `CLAIM=MEMBER`. */
  contextClaims?: readonly string[];
  /** The scope that tokens of callers without a key need, in the claim `scope` or `scp`. Default: none. */
  scope?: string;
  /** The longest time until a token expires. Default 86,400: identity providers make tokens for up to a day. */
  maxAgeSeconds?: number;
  /** Accepts tokens that were made for a client to read, not for this service. Default false. */
  allowIdTokens?: boolean;
}

/** What a token is verified for. */
interface ProofOf {
  agentId: string;
  /** The token comes without an API key. */
  alone?: boolean;
}

/**
 * Verifies a caller's token. `lacks`: the scope that a token without a key would need. Throws `authentication_failed` with a reason, `unavailable`
 * without the issuer's keys.
 */
export type ProveCaller = (token: string, of: ProofOf) => Promise<ProvenCaller & { lacks?: string }>;

const ALGORITHMS = ["RS256", "ES256", "EdDSA"];
const MAX_TOKEN = 8_192;
const MAX_ROLES = 100;
const MAX_AGE_SECONDS = 86_400;
const SKEW_SECONDS = 60;
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

interface ContextClaim {
  claim: string;
  member: string;
}

/** Throws for an unusable issuer. */
export function createCallerProof(
  issuer: CallerIssuer,
  deps: { clock: Clock; log: Log; publicUrl?: string | undefined },
): ProveCaller {
  const { clock, publicUrl } = deps;
  const { maxAgeSeconds = MAX_AGE_SECONDS } = issuer;
  const contextClaims = contextClaimsOf(issuer);
  requireUsable(issuer, publicUrl);
  const members = contextClaims.map(({ member }) => member);
  // Loaded by the first token: most services have no issuer.
  const verify = once(async () => {
    const { createLocalJWKSet, jwtVerify } = await import("jose");
    const keys = createIssuerKeys(issuer, { toKeySet: createLocalJWKSet, ...deps });
    return (token: string, audience: string[], now: number) =>
      jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer: issuer.issuer,
        audience,
        requiredClaims: ["exp"],
        clockTolerance: SKEW_SECONDS,
        currentDate: new Date(now),
      });
  });

  return async (token, of) => {
    if (token.length > MAX_TOKEN) throw notProven(`it has more than ${MAX_TOKEN} characters`);
    // Also repeated headers: Node.js joins them with commas.
    if (!COMPACT.test(token)) throw notProven("it is not one signed JWT");
    const now = clock.now();
    const audience = audiencesOf(issuer, publicUrl, of);
    const verified = await verify().then((run) =>
      run(token, audience, now).catch((error: unknown) => rejected(error, { ...issuer, audience })),
    );
    const { payload, protectedHeader } = verified;
    if (payload.exp! - now / 1_000 > maxAgeSeconds + SKEW_SECONDS)
      throw notProven(`it is valid for more than ${maxAgeSeconds} s from now`);
    requireAccessToken(protectedHeader, payload, issuer);
    // Claims go into frames and runs, as a query's context does.
    if (nestsDeeper(JSON.stringify(payload), LIMITS.jsonDepth))
      throw notProven(`its claims nest more than ${LIMITS.jsonDepth} levels deep`);
    const proven = {
      ...provenBy(payload, issuer),
      token: { value: token, expiresAt: payload.exp! * 1_000 },
      context: contextIn(payload, contextClaims),
      members,
    };
    const { scope } = issuer;
    return { ...proven, ...(of.alone && scope !== undefined && !hasScope(payload, scope) && { lacks: scope }) };
  };
}

/** A token that comes without a key may name the agent's address, or that of its MCP endpoint (RFC 8707). */
function audiencesOf({ audience }: CallerIssuer, publicUrl: string | undefined, { agentId, alone }: ProofOf): string[] {
  if (audience !== undefined && !alone) return [audience];
  const address = `${publicUrl}/agents/${agentId}`;
  return [
    ...(audience === undefined ? [] : [audience]),
    ...(publicUrl === undefined ? [] : [address, `${address}/mcp`]),
  ];
}

/** Claims of ID tokens (OpenID Connect Core, sections 2 and 3.3.2.11). */
const ID_TOKEN_CLAIMS = ["nonce", "at_hash", "c_hash"];

/** An ID token names the user to a client, which may show it to others. */
function requireAccessToken({ typ }: JWTHeaderParameters, payload: JWTPayload, { allowIdTokens }: CallerIssuer): void {
  if (typ !== undefined && !/^(application\/)?(at\+jwt|jwt)$/i.test(typ))
    throw notProven("its typ is neither at+jwt nor JWT");
  if (allowIdTokens) return;
  const claim = ID_TOKEN_CLAIMS.find((name) => Object.hasOwn(payload, name));
  if (claim !== undefined || payload["token_use"] === "id")
    throw notProven(`it is an ID token, as its claim ${claim ?? "token_use"} shows: send the access token`);
}

/** OAuth's `scope` is a text; `scp`, which some identity providers write instead, is a text or a list. */
function hasScope(payload: JWTPayload, scope: string): boolean {
  const granted = payload["scope"] ?? payload["scp"];
  return (typeof granted === "string" ? granted.split(" ") : Array.isArray(granted) ? granted : []).includes(scope);
}

function provenBy(
  payload: JWTPayload,
  { issuer, roleClaim, roleMap }: CallerIssuer,
): Pick<ProvenCaller, "subject" | "ids" | "issuer" | "claims" | "roles"> {
  const { sub: subject } = payload as Record<string, unknown>;
  // RFC 9068, 2.2, requires it. Callers without one would find each other's runs and chats.
  if (!isLabel(subject)) throw notProven("its claim sub is not a text of 1 to 200 characters");
  const caller = { subject, ids: callerIdsOf({ issuer, subject }), issuer, claims: payload as JsonObject };
  if (roleClaim === undefined) return caller;
  const value = claimIn(payload, roleClaim) ?? [];
  const roles = Array.isArray(value) ? value : [value];
  if (roles.length > MAX_ROLES || !roles.every(isLabel))
    throw notProven(
      `its claim ${roleClaim} is neither a role nor a list of up to ${MAX_ROLES} roles, each with 1 to ${LIMITS.labelUnits} characters`,
    );
  const named = roleMap ? roles.flatMap((value) => (Object.hasOwn(roleMap, value) ? [roleMap[value]!] : [])) : roles;
  return { ...caller, roles: [...new Set(named)] };
}

const isLabel = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= LIMITS.labelUnits;

function contextIn(payload: JWTPayload, claims: readonly ContextClaim[]): JsonObject {
  const stated = claims.map(({ claim, member }) => [member, claimIn(payload, claim)] as const);
  return Object.fromEntries(stated.filter((named): named is [string, JsonValue] => named[1] !== undefined));
}

/** A claim's value: by its name, or by a JSON Pointer (RFC 6901) through objects. A null claim counts as absent. */
function claimIn(payload: JWTPayload, claim: string): JsonValue | undefined {
  let value: unknown = payload;
  for (const name of pathOf(claim)) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return (value as JsonValue | null) ?? undefined;
}

const pathOf = (claim: string): string[] =>
  claim.startsWith("/")
    ? claim
        .slice(1)
        .split("/")
        .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    : [claim];

function contextClaimsOf({ contextClaims = [] }: CallerIssuer): ContextClaim[] {
  const claims = contextClaims.map((text) => {
    const [, claim = text, member = pathOf(text).at(-1)!] = /^(.+)=([^=]+)$/.exec(text) ?? [];
    return { claim, member };
  });
  const members = claims.map(({ member }) => member);
  const twice = members.find((member, i) => members.indexOf(member) !== i);
  if (twice !== undefined) throw new Error(`Two claims cannot become one member of the context: ${twice}.`);
  return claims;
}

/** A scope token (RFC 6749, section 3.3), which is also quoted in challenges. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

function requireUsable({ issuer, jwksUrl, audience, scope }: CallerIssuer, publicUrl: string | undefined): void {
  if (scope !== undefined && !SCOPE.test(scope))
    throw new Error(
      `${JSON.stringify(scope)} cannot be the scope of callers' tokens: it is one word of ASCII characters, without quotes and backslashes.`,
    );
  if (audience === undefined && publicUrl === undefined)
    throw new Error(
      "Callers' tokens need an audience or the server's public URL: a token that the issuer made for another service must not be accepted.",
    );
  for (const address of [issuer, ...(jwksUrl === undefined ? [] : [jwksUrl])])
    if (!isTrustworthy(address))
      throw new Error(
        `${address} cannot name the keys of callers: an https:// address is needed, because its answer decides whom to trust. Only on this machine may it be http://.`,
      );
}

/** The error for a token that proves nothing. */
export const notProven = (why: string): ServiceError =>
  standardError("authentication_failed", `the caller's token is not accepted, because ${why}.`);

/** Reasons by `jose` error code. Its own messages repeat values from the token. */
const REASONS: Record<string, string> = {
  ERR_JWT_EXPIRED: "it has expired",
  ERR_JOSE_ALG_NOT_ALLOWED: `its algorithm is not ${ALGORITHMS.slice(0, -1).join(", ")} or ${ALGORITHMS.at(-1)}`,
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
  ERR_JWKS_NO_MATCHING_KEY: "the issuer has no key for its kid and algorithm",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "it names no kid, and the issuer has several keys",
};

function rejected(error: unknown, { issuer, audience }: { issuer: string; audience: readonly string[] }): never {
  if (error instanceof IssuerUnreachable)
    throw new ServiceError(
      "unavailable",
      isOutOfFiles(error)
        ? `The keys of the callers' identity provider cannot be read: ${OUT_OF_FILES}. Try again in a moment.`
        : "The keys of the callers' identity provider cannot be read. Try again in a moment.",
      { cause: error },
    );
  const { code, claim } = error as { code?: unknown; claim?: unknown };
  if (claim === "iss") throw notProven(`its issuer is not ${issuer}`);
  if (claim === "aud") throw notProven(`it is not for the audience ${audience.join(" or ")}`);
  if (claim === "nbf") throw notProven("it is not valid yet");
  if (claim === "exp" && code !== "ERR_JWT_EXPIRED") throw notProven("it has no time at which it expires");
  throw notProven(REASONS[String(code)] ?? "it is not a signed JWT");
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

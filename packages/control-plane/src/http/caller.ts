import { createHash, timingSafeEqual } from "node:crypto";
import { MESSAGES } from "@patchbay/protocol";
import { ServiceError } from "../ports/service-error.ts";
import type { Credential } from "../ports/stores.ts";
import type { Caller } from "../run/api.ts";
import type { Exchange, HttpDeps } from "./deps.ts";

type Authenticate = HttpDeps["authenticate"];

const LONGEST_SECRET = 200;
const BEARER = /^Bearer +([^\s,]+)$/i;

type CallerDeps = Pick<HttpDeps, "authenticate" | "within">;

/** Does `work` for the caller that an API key stands for, once it is known to be a key of the agent in the path. */
export async function asApiCaller<T>(
  { c }: Exchange,
  { authenticate, within }: CallerDeps,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  const credential = await check(authenticate, "api", c.req.header("X-API-Key"));
  if (credential.agentId !== c.req.param("agent_id")) throw new ServiceError("agent_mismatch", MESSAGES.agent_mismatch);
  return await within(credential.orgId, () => work(callerOf(credential)));
}

/** Does `work` for the caller that an access token stands for: its agent is the token's. */
export async function asLocalCaller<T>(
  { c }: Exchange,
  { authenticate, within }: CallerDeps,
  work: (caller: Caller) => Promise<T>,
): Promise<T> {
  const credential = await check(authenticate, "access", bearer(c.req.header("Authorization")));
  return await within(credential.orgId, () => work(callerOf(credential)));
}

/** Refuses whoever holds no runtime key. */
export async function requireRuntimeKey({ c }: Exchange, authenticate: Authenticate): Promise<void> {
  await check(authenticate, "runtime", bearer(c.req.header("Authorization")));
}

/** Refuses requests without the operator's metrics token, where there is one. */
export function requireMetricsToken({ c }: Exchange, { metricsToken }: Pick<HttpDeps, "metricsToken">): void {
  if (metricsToken === undefined) return;
  const given = bearer(c.req.header("Authorization"));
  if (given !== undefined && timingSafeEqual(digest(given), digest(metricsToken))) return;
  throw new ServiceError("authentication_failed", MESSAGES.authentication_failed);
}

/** Of equal length, as a comparison in constant time wants it. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

async function check(
  authenticate: Authenticate,
  kind: "api" | "access" | "runtime",
  secret: string | undefined,
): Promise<Credential> {
  const credential =
    secret === undefined || secret === "" || secret.length > LONGEST_SECRET
      ? undefined
      : await authenticate(kind, secret);
  if (!credential) throw new ServiceError("authentication_failed", MESSAGES.authentication_failed);
  return credential;
}

function bearer(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}

function callerOf({ credentialId, agentId, orgId, tier, roles }: Credential): Caller {
  return { keyId: credentialId, agentId, orgId, tier, ...(roles && { roles }) };
}

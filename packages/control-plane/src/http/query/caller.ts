import { createHash, timingSafeEqual } from "node:crypto";
import { MESSAGES, present } from "@patchbay/protocol";
import { ServiceError } from "../../ports/service-error.ts";
import type { Credential } from "../../ports/stores.ts";
import type { Principal } from "../../run/api.ts";
import type { Exchange, RequestFacts } from "../kernel/exchange.ts";
import type { HttpDeps } from "./deps.ts";

type Authenticate = HttpDeps["authenticate"];

const LONGEST_SECRET = 200;
const BEARER = /^Bearer +([^\s,]+)$/i;

type CallerDeps = Pick<HttpDeps, "authenticate" | "within">;

/** Runs `work` for the holder of an API key. Throws `agent_mismatch` when the key belongs to another agent than the path names. */
export async function asApiCaller<T>(
  { c, facts }: Exchange,
  { authenticate, within }: CallerDeps,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const credential = await check(authenticate, "api", c.req.header("X-API-Key"), facts);
  if (credential.agentId !== c.req.param("agent_id")) throw new ServiceError("agent_mismatch", MESSAGES.agent_mismatch);
  return await within(credential.orgId, () => work(callerOf(credential)));
}

/** Runs `work` for the holder of an access token, which determines the agent. */
export async function asLocalCaller<T>(
  { c, facts }: Exchange,
  { authenticate, within }: CallerDeps,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const credential = await check(authenticate, "access", bearer(c.req.header("Authorization")), facts);
  return await within(credential.orgId, () => work(callerOf(credential)));
}

/** Throws `authentication_failed` without a valid runtime key. */
export async function requireRuntimeKey({ c, facts }: Exchange, authenticate: Authenticate): Promise<void> {
  await check(authenticate, "runtime", bearer(c.req.header("Authorization")), facts);
}

/** Throws `authentication_failed` without the operator's metrics token, if one is configured. */
export function requireMetricsToken({ c }: Exchange, { metricsToken }: Pick<HttpDeps, "metricsToken">): void {
  if (metricsToken === undefined) return;
  const given = bearer(c.req.header("Authorization"));
  if (given !== undefined && timingSafeEqual(digest(given), digest(metricsToken))) return;
  throw new ServiceError("authentication_failed", MESSAGES.authentication_failed);
}

/** A comparison in constant time needs values of equal length. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** The credential of a secret, which it also notes for the line of the request in the log. */
async function check(
  authenticate: Authenticate,
  kind: "api" | "access" | "runtime",
  secret: string | undefined,
  facts: RequestFacts,
): Promise<Credential> {
  const credential =
    secret === undefined || secret === "" || secret.length > LONGEST_SECRET
      ? undefined
      : await authenticate(kind, secret);
  if (!credential) throw new ServiceError("authentication_failed", MESSAGES.authentication_failed);
  const { agentId, credentialId: keyId, label } = credential;
  Object.assign(facts, { agentId, keyId, ...present({ keyLabel: label }) });
  return credential;
}

function bearer(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}

function callerOf({ credentialId, label, agentId, orgId, tier, roles, can }: Credential): Principal {
  return { keyId: credentialId, agentId, orgId, tier, ...present({ keyLabel: label, roles, can }) };
}

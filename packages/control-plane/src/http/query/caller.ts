import { isUtf8 } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { ContextJson, type JsonObject, LIMITS, MESSAGES, optional, present, textUpTo } from "@patchbay/protocol";
import { z } from "zod";
import type { AuditEntry } from "../../ports/records.ts";
import { invalid, ServiceError, type ServiceErrorCode } from "../../ports/service-error.ts";
import type { Credential } from "../../ports/stores.ts";
import { narrowed, type Principal } from "../../run/api.ts";
import { hashJson } from "../kernel/body.ts";
import { codeOf } from "../kernel/errors.ts";
import type { Exchange, RequestFacts } from "../kernel/exchange.ts";
import type { HttpDeps } from "./deps.ts";
import { isForPages } from "./origins.ts";
import { parse } from "./query-body.ts";

type Authenticate = HttpDeps["authenticate"];

const LONGEST_SECRET = 200;
const BEARER = /^Bearer +([^\s,]+)$/i;

type CallerDeps = Pick<
  HttpDeps,
  "authenticate" | "within" | "proveCaller" | "clientTokens" | "doorLimit" | "audit" | "log"
>;

function requireAgent({ agentId }: Credential, { req }: Exchange["c"]): void {
  if (agentId !== req.param("agent_id")) throw new ServiceError("agent_mismatch", MESSAGES.agent_mismatch);
}

/** Runs `work` for the holder of an API key. Throws `agent_mismatch` when the key belongs to another agent than the path names. */
export async function asApiCaller<T>(
  exchange: Exchange,
  deps: CallerDeps,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const { c, facts } = exchange;
  const credential = await check(deps.authenticate, "api", c.req.header("X-API-Key"), facts);
  requireAgent(credential, c);
  return await asHolder(exchange, deps, credential, work);
}

/** Who asks on a door, and for whom. */
export interface DoorCaller {
  /** Where the role is known, the principal may state this role only. */
  principal: Principal;
  /** The same before its role was chosen, for a door whose requests choose one themselves. */
  holder: Principal;
  role?: string;
  context?: JsonObject;
  /** Scope of the ids by which the caller names its threads. */
  threadScope: string;
  /** Takes the place of every id by which the caller names a thread: its client token opens this one only. */
  threadKey?: string;
}

const ROLE = "X-Patchbay-Role";
const CONTEXT = "X-Patchbay-Context";

/**
 * Runs `work` for the caller of a door: the page with a client token, which fixes role and context, or the holder of an API key,
 * with the role that the key is pinned to, else the role of the header. Throws as `asApiCaller` does, and `role_not_allowed` for a role that the key may not state.
 */
export async function asDoorCaller<T>(
  exchange: Exchange,
  deps: CallerDeps & Pick<HttpDeps, "runs">,
  work: (caller: DoorCaller) => Promise<T>,
): Promise<T> {
  const { c, headers, facts } = exchange;
  const { runs } = deps;
  const key = c.req.header("X-API-Key");
  const secret = key ?? bearer(c.req.header("Authorization"));
  try {
    const page = key === undefined && isForPages(c.req.path) ? await pageWith(secret, deps) : undefined;
    const credential = page?.key ?? (await check(deps.authenticate, "api", secret, facts));
    requireAgent(credential, c);
    if (page) return await asPage(exchange, deps, page, work);
    const asked = parse(DoorHeaders, { [ROLE]: c.req.header(ROLE), [CONTEXT]: c.req.header(CONTEXT) }, []);
    const { [CONTEXT]: context } = asked;
    return await asHolder(exchange, deps, credential, async (holder) => {
      // A pin decides whatever the header says; a token that the header contradicts does not.
      if (holder.proven?.roles) await runs.requireRole(holder, asked[ROLE]);
      const role = holder.roles?.length === 1 ? holder.roles[0] : asked[ROLE];
      await runs.requireRole(holder, role);
      const principal = role === undefined ? holder : { ...holder, roles: [role] };
      const threadScope = scopeOf(credential, holder);
      return await work({ principal, holder, threadScope, ...present({ role, context }) });
    });
  } catch (thrown) {
    // Also for a refused caller, and for a key that is revoked while its request waits for a stream.
    if (codeOf(thrown) === "authentication_failed")
      headers["WWW-Authenticate"] = secret === undefined ? "Bearer" : 'Bearer error="invalid_token"';
    throw thrown;
  }
}

type Page = NonNullable<Awaited<ReturnType<HttpDeps["clientTokens"]["authenticate"]>>>;

const pageWith = async (secret: string | undefined, { clientTokens }: CallerDeps): Promise<Page | undefined> =>
  secret === undefined || secret.length > LONGEST_SECRET ? undefined : await clientTokens.authenticate(secret);

/** Runs `work` for a page. It has no right of its key besides queries, and whatever its headers state is ignored. */
async function asPage<T>(
  exchange: Exchange,
  deps: CallerDeps,
  { token, key }: Page,
  work: (caller: DoorCaller) => Promise<T>,
): Promise<T> {
  const { can: _, ...holder } = callerOf(key);
  const { role, context, threadKey, proven: made } = token;
  const principal: Principal = {
    ...holder,
    roles: [role],
    fixed: token,
    ...(made && { proven: { ...made, context: {}, members: [] } }),
  };
  noteIn(exchange.facts, key);
  return await asNarrowed(exchange, deps, { principal, needsProof: key.needsProof === true && !made }, (narrow) => {
    const lineage = key.lineage ?? key.credentialId;
    const subject = narrow.proven?.subject ?? null;
    const threadScope = `${lineage} ${hashJson({ role, context, subject })}`;
    return work({ principal: narrow, holder: narrow, role, context, threadScope, ...present({ threadKey }) });
  });
}

/** The chats of a key and of its rotations are those of one caller; those of a proven caller are its own. */
function scopeOf({ lineage, credentialId }: Credential, { proven }: Principal): string {
  const key = lineage ?? credentialId;
  return proven ? `${key} ${JSON.stringify({ caller: proven.subject })}` : key;
}

/** The headers by which a caller of a door states its role and context. */
const DoorHeaders = z.object({
  [ROLE]: optional(textUpTo(LIMITS.labelUnits)),
  [CONTEXT]: optional(
    z
      .string()
      .regex(/^[A-Za-z0-9_-]*={0,2}$/, "must be base64url")
      .transform((encoded) => Buffer.from(encoded, "base64url"))
      .refine(({ length }) => length <= LIMITS.doorContextBytes, `must have at most ${LIMITS.doorContextBytes} bytes`)
      .refine(isUtf8, "must hold UTF-8")
      .transform((bytes) => bytes.toString())
      .pipe(ContextJson),
  ),
});

/** Runs `work` for the holder of an access token, which determines the agent. */
export async function asLocalCaller<T>(
  exchange: Exchange,
  deps: CallerDeps,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const { c, facts } = exchange;
  const credential = await check(deps.authenticate, "access", bearer(c.req.header("Authorization")), facts);
  return await asHolder(exchange, deps, credential, work);
}

function asHolder<T>(
  exchange: Exchange,
  deps: CallerDeps,
  credential: Credential,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const needsProof = credential.needsProof === true;
  return asNarrowed(exchange, deps, { principal: callerOf(credential), needsProof }, work);
}

/** Runs `work` for the principal as the token of its caller narrows it, in case there is one. */
async function asNarrowed<T>(
  { c }: Exchange,
  deps: CallerDeps,
  { principal, needsProof }: { principal: Principal; needsProof: boolean },
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const token = c.req.header("X-Patchbay-Caller");
  return await deps.within(principal.orgId, async () => {
    if (token === undefined && !needsProof) return await work(principal);
    return await work(await proven(principal, token, deps));
  });
}

/** The principal as the token of its caller narrows it. A refusal is audited, within the limit of requests that begin no query. */
async function proven(principal: Principal, token: string | undefined, deps: CallerDeps): Promise<Principal> {
  const { proveCaller, doorLimit, audit, log } = deps;
  try {
    if (token === undefined) throw noToken();
    if (!proveCaller) throw noIssuer();
    const caller = await proveCaller(token);
    if (principal.proven && principal.proven.subject !== caller.subject) throw otherCaller();
    return narrowed(principal, caller);
  } catch (error) {
    const rule = REFUSALS[codeOf(error)];
    if (rule === undefined) throw error;
    const { agentId, orgId, keyId, tier } = principal;
    // Refused before it counts as a query, such a request could otherwise fill the audit log without end.
    const state = await doorLimit(orgId, tier);
    if (state && !state.allowed) throw error;
    const entry: AuditEntry & { orgId: string } = { action: "caller.refused", agentId, orgId, keyId, rule };
    // The request is refused even when the audit entry cannot be stored.
    await audit.record([entry]).catch((cause: unknown) => {
      log.warn("a refused caller could not be audited", { agentId, cause });
    });
    throw error;
  }
}

/** The audited rule of each refusal. Others are faults of the server or of its set-up. */
const REFUSALS: Partial<Record<ServiceErrorCode, string>> = {
  authentication_failed: "caller_token",
  role_not_allowed: "role_not_allowed",
};

const noToken = (): ServiceError =>
  new ServiceError(
    "authentication_failed",
    `${MESSAGES.authentication_failed}: this agent requires the token of the caller in X-Patchbay-Caller.`,
  );

const otherCaller = (): ServiceError =>
  new ServiceError(
    "authentication_failed",
    `${MESSAGES.authentication_failed}: the token in X-Patchbay-Caller names another caller than the client token was made for.`,
  );

/** A token that is ignored would leave its sender believe that it limits the request. */
const noIssuer = (): ServiceError =>
  invalid([
    {
      path: "X-Patchbay-Caller",
      message: "cannot be verified: the operator has not named an identity provider (--caller-issuer)",
    },
  ]);

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
  noteIn(facts, credential);
  return credential;
}

function noteIn(facts: RequestFacts, { agentId, credentialId: keyId, label }: Credential): void {
  Object.assign(facts, { agentId, keyId, ...present({ keyLabel: label }) });
}

function bearer(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}

function callerOf({ credentialId, label, agentId, orgId, tier, roles, can }: Credential): Principal {
  return { keyId: credentialId, agentId, orgId, tier, ...present({ keyLabel: label, roles, can }) };
}

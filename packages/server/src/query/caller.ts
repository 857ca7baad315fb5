import { isUtf8 } from "node:buffer";
import { ContextJson, LIMITS, optional, textUpTo } from "@patchbay/protocol";
import { type JsonObject, present } from "@patchbay/kit";
import { z } from "zod";
import type { ThreadKey } from "@patchbay/engine/ports/records";
import { standardError } from "@patchbay/engine/ports/service-error";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import type { ProvenCaller } from "@patchbay/engine/ports/callers";
import { narrowed, type Principal } from "@patchbay/engine/run/api";
import type { KeylessCaller } from "../accounts/keyless.ts";
import { LONGEST_SECRET, type Page, pageWith } from "../accounts/client-tokens.ts";
import { hashJson } from "../kernel/body.ts";
import type { Exchange, Handler, RequestFacts } from "../kernel/exchange.ts";
import type { HttpDeps } from "./deps.ts";
import { bearer, challenged, keylessCaller, keylessChallenge, type KeylessDeps } from "./keyless-caller.ts";
import { pageAdapterOf } from "./origins.ts";
import { provenBy } from "./proven-principal.ts";
import { parse } from "./query-body.ts";

type Authenticate = HttpDeps["authenticate"];

export type CallerDeps = KeylessDeps &
  Pick<
    HttpDeps,
    "runs" | "authenticate" | "within" | "proveCaller" | "clientTokens" | "adapterLimit" | "audit" | "log"
  >;

function requireAgent({ agentId }: Credential, { req }: Exchange["c"]): void {
  if (agentId !== req.param("agent_id")) throw standardError("agent_mismatch");
}

/**
 * Runs `work` for an API key's holder, or for a caller without a key where the agent needs none. Throws `agent_mismatch`
 * when the key and the path name different agents.
 */
export async function asApiCaller<T>(
  exchange: Exchange,
  deps: CallerDeps,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const { c } = exchange;
  return await challenged(exchange, deps, undefined, async () => {
    const holder = await holderOf(exchange, deps, c.req.header("X-API-Key"));
    requireAgent(holder.credential, c);
    return await asHolder(exchange, deps, holder, async (caller) => work(await inHeaderRole(exchange, deps, caller)));
  });
}

/**
 * For routes that read the role from the body, and would otherwise ignore a header that contradicts the key or token. A
 * caller with proven roles chooses one with it.
 */
async function inHeaderRole({ c }: Exchange, { runs }: CallerDeps, caller: Principal): Promise<Principal> {
  const asked = c.req.header(ROLE);
  if (!asked) return caller;
  await runs.requireRole(caller, asked);
  return caller.proven?.roles ? { ...caller, roles: [asked] } : caller;
}

/** Who sends the request: an API key's holder, or a caller without a key. */
type Holder = Pick<KeylessCaller, "credential"> & Partial<KeylessCaller>;

async function holderOf(exchange: Exchange, deps: CallerDeps, secret: string | undefined): Promise<Holder> {
  const keyless = await keylessCaller(exchange, deps);
  if (!keyless) return { credential: await check(deps.authenticate, "api", secret, exchange.facts) };
  noteIn(exchange.facts, keyless.credential);
  return keyless;
}

/** Makes handlers for requests with an API key. */
export const apiHandler =
  (deps: CallerDeps) =>
  (handle: (exchange: Exchange, caller: Principal) => Promise<Response>): Handler =>
  (exchange) =>
    asApiCaller(exchange, deps, (caller) => handle(exchange, caller));

/** The caller on an adapter, and whom it asks for. */
export interface AdapterCaller {
  /** Where the role is known, the principal may use this role only. */
  principal: Principal;
  /** The principal before its role was chosen, for adapters whose requests choose one themselves. */
  holder: Principal;
  role?: string;
  context?: JsonObject;
  /** Scope for the ids by which the caller names its threads. */
  threadScope: string;
  /** See `ThreadKey`. */
  formerScope?: string;
  /** Replaces every thread id of the caller: its client token opens this thread only. */
  threadKey?: string;
}

const ROLE = "X-Patchbay-Role";
const CONTEXT = "X-Patchbay-Context";

/**
 * Runs `work` for an adapter's caller: the page with a client token, which fixes role and context, or an API key's holder
 * or a caller without a key, with the pinned or proven role or else the header's. Throws as `asApiCaller` does, and `role_not_allowed` for a header
 * role that the key or its caller may not use.
 */
export async function asAdapterCaller<T>(
  exchange: Exchange,
  deps: CallerDeps,
  work: (caller: AdapterCaller) => Promise<T>,
): Promise<T> {
  const { c } = exchange;
  const { runs } = deps;
  const key = c.req.header("X-API-Key");
  const secret = key ?? bearer(c.req.header("Authorization"));
  // Also for a refused caller, and for a key revoked while its request waits for a stream.
  const challenge = secret === undefined ? "Bearer" : 'Bearer error="invalid_token"';
  return await challenged(exchange, deps, challenge, async () => {
    const adapter = pageAdapterOf(c.req.path);
    const page = key === undefined && adapter ? await pageWith(secret, adapter, deps.clientTokens) : undefined;
    const sender = page ? { credential: page.key } : await holderOf(exchange, deps, secret);
    const { credential } = sender;
    requireAgent(credential, c);
    if (page) return await asPage(exchange, deps, page, work);
    const asked = parse(AdapterHeaders, { [ROLE]: c.req.header(ROLE), [CONTEXT]: c.req.header(CONTEXT) }, []);
    const { [CONTEXT]: context } = asked;
    return await asHolder(exchange, deps, sender, async (holder) => {
      await runs.requireRole(holder, asked[ROLE]);
      const role = asked[ROLE] ?? (holder.roles?.length === 1 ? holder.roles[0] : undefined);
      const principal = role === undefined ? holder : { ...holder, roles: [role] };
      return await work({ principal, holder, ...scopesOf(credential, holder), ...present({ role, context }) });
    });
  });
}

/** Runs `work` for a page. The page may only query, and its role and context headers are ignored. */
async function asPage<T>(
  exchange: Exchange,
  deps: CallerDeps,
  { token, key }: Page,
  work: (caller: AdapterCaller) => Promise<T>,
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
    const scopeFor = (subject: string | null) => `${lineage} ${hashJson({ role, context, subject })}`;
    const scopes = scopesFor(narrow, scopeFor, scopeFor(null));
    return work({ principal: narrow, holder: narrow, role, context, ...scopes, ...present({ threadKey }) });
  });
}

type Scopes = Pick<AdapterCaller, "threadScope" | "formerScope">;

/** A key and its rotations share their chats; a proven caller has its own. */
function scopesOf({ lineage, credentialId }: Credential, holder: Principal): Scopes {
  const key = lineage ?? credentialId;
  return scopesFor(holder, (caller) => `${key} ${JSON.stringify({ caller })}`, key);
}

/** Earlier versions stored the chats of proven callers with only the `sub` in their scope. */
const scopesFor = ({ proven }: Principal, scopeFor: (caller: string) => string, ofNobody: string): Scopes =>
  proven ? { threadScope: scopeFor(proven.ids[0]), formerScope: scopeFor(proven.subject) } : { threadScope: ofNobody };

/** The caller's thread key for this id. */
export const threadKeyOf = ({ threadScope: scope, formerScope, threadKey }: AdapterCaller, id: string): ThreadKey => ({
  scope,
  id: threadKey ?? id,
  ...present({ formerScope }),
});

/** The headers by which an adapter's caller states its role and context. */
const AdapterHeaders = z.object({
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

/** Runs `work` for an access token's holder; the token determines the agent. */
export async function asLocalCaller<T>(
  exchange: Exchange,
  deps: CallerDeps,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const { c, facts } = exchange;
  const credential = await check(deps.authenticate, "access", bearer(c.req.header("Authorization")), facts);
  return await asHolder(exchange, deps, { credential }, async (caller) =>
    work(await inHeaderRole(exchange, deps, caller)),
  );
}

function asHolder<T>(
  exchange: Exchange,
  deps: CallerDeps,
  { credential, proven, lacks }: Holder,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const needsProof = credential.needsProof === true;
  return asNarrowed(
    exchange,
    deps,
    { principal: callerOf(credential), needsProof, ...present({ proven, lacks }) },
    work,
  );
}

interface Narrowing {
  principal: Principal;
  needsProof: boolean;
  proven?: ProvenCaller;
  /** The required scope that the token of a caller without a key lacks. */
  lacks?: string;
}

/** Runs `work` for the principal, narrowed by its caller's token if there is one. */
async function asNarrowed<T>(
  exchange: Exchange,
  deps: CallerDeps,
  { principal: asked, needsProof, proven, lacks }: Narrowing,
  work: (caller: Principal) => Promise<T>,
): Promise<T> {
  const token = exchange.c.req.header("X-Patchbay-Caller");
  if (lacks !== undefined)
    exchange.headers["WWW-Authenticate"] = keylessChallenge(exchange, deps, "insufficient_scope");
  return await deps.within(asked.orgId, async () => {
    const hasRoles = asked.roles !== undefined || proven?.roles !== undefined || token !== undefined;
    const inclusions = hasRoles ? await deps.runs.inclusions(asked.agentId) : undefined;
    const holder = inclusions ? { ...asked, inclusions } : asked;
    const principal = proven ? narrowed(holder, proven) : holder;
    if (token === undefined && !needsProof && lacks === undefined) return await work(principal);
    return await work(await provenBy(principal, { token, lacks }, deps));
  });
}

/** Throws `authentication_failed` without a valid runtime key. */
export async function requireRuntimeKey({ c, facts }: Exchange, authenticate: Authenticate): Promise<void> {
  await check(authenticate, "runtime", bearer(c.req.header("Authorization")), facts);
}

/** The credential for a secret; also notes it for the request's log line. */
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
  if (!credential) throw standardError("authentication_failed");
  noteIn(facts, credential);
  return credential;
}

function noteIn(facts: RequestFacts, { agentId, credentialId: keyId, label }: Credential): void {
  Object.assign(facts, { agentId, keyId, ...present({ keyLabel: label }) });
}

function callerOf({ credentialId, label, agentId, orgId, tier, ...key }: Credential): Principal {
  const { roles, can, taskModel, callerClaims } = key;
  const optional = present({ keyLabel: label, roles, can, taskModel, callerClaims });
  return { keyId: credentialId, agentId, orgId, tier, ...optional };
}

import { codeOf } from "../kernel/errors.ts";
import { baseUrl, type Exchange } from "../kernel/exchange.ts";
import type { KeylessCaller } from "../accounts/keyless.ts";
import type { HttpDeps } from "./deps.ts";

export type KeylessDeps = Pick<HttpDeps, "keyless" | "publicUrl" | "trustProxy">;

const BEARER = /^Bearer +([^\s,]+)$/i;

export function bearer(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}

/** Keys and client tokens have no dot. */
export const isJwt = (secret: string | undefined): boolean => secret?.includes(".") === true;

const tokenOf = ({ c }: Exchange): string | undefined => bearer(c.req.header("Authorization"));
const agentIn = ({ c }: Exchange): string => c.req.param("agent_id") ?? "";

/** A request with a key follows the rules for keys, also on agents that need none. */
const hasKey = ({ c }: Exchange): boolean => c.req.header("X-API-Key") !== undefined;

/** The caller whose JWT is its whole credential; undefined for other requests, and where the agent needs a key. */
export async function keylessCaller(exchange: Exchange, { keyless }: KeylessDeps): Promise<KeylessCaller | undefined> {
  const token = tokenOf(exchange);
  if (!keyless || hasKey(exchange) || token === undefined || !isJwt(token)) return undefined;
  const agentId = agentIn(exchange);
  return (await keyless.opens(agentId)) ? await keyless.authenticate(agentId, token) : undefined;
}

/** The beginning of the path of the metadata (RFC 9728) to which an agent's MCP endpoint refers. */
export const METADATA = "/.well-known/oauth-protected-resource/";

/**
 * The challenge (RFC 6750) of an agent that needs no key. Only the MCP endpoint refers to metadata: a client must refuse
 * metadata whose `resource` is not the address that it requested.
 */
export function keylessChallenge(exchange: Exchange, deps: KeylessDeps, error?: string): string {
  const agentId = agentIn(exchange);
  const scope = deps.keyless?.scope;
  const isMcp = exchange.c.req.path === `/agents/${agentId}/mcp`;
  const members = {
    ...(error !== undefined && { error }),
    ...(scope !== undefined && { scope }),
    ...(isMcp && { resource_metadata: `${baseUrl(exchange, deps)}${METADATA}agents/${agentId}/mcp` }),
  };
  // RFC 6750, section 3: the scheme needs a parameter.
  const written = Object.entries(Object.keys(members).length === 0 ? { realm: "patchbay" } : members);
  return `Bearer ${written.map(([name, value]) => `${name}="${value}"`).join(", ")}`;
}

/** Runs `work`. A refused request gets its agent's challenge, or `preset` where the agent needs a key. */
export async function challenged<T>(
  exchange: Exchange,
  deps: KeylessDeps,
  preset: string | undefined,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (codeOf(thrown) !== "authentication_failed") throw thrown;
    const opens = !hasKey(exchange) && deps.keyless?.opens(agentIn(exchange)).catch(() => false);
    const error = tokenOf(exchange) === undefined ? undefined : "invalid_token";
    const challenge = (await opens) ? keylessChallenge(exchange, deps, error) : preset;
    if (challenge !== undefined) exchange.headers["WWW-Authenticate"] = challenge;
    throw thrown;
  }
}

import { codeOf } from "../kernel/errors.ts";
import { baseUrl, type Exchange } from "../kernel/exchange.ts";
import type { KeylessCaller } from "../accounts/keyless.ts";
import type { HttpDeps } from "./deps.ts";

export type KeylessDeps = Pick<HttpDeps, "keyless" | "publicUrl" | "trustProxy">;

const BEARER = /^Bearer +([^\s,]+)$/i;

export function bearer(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1];
}

const tokenOf = ({ c }: Exchange): string | undefined => bearer(c.req.header("Authorization"));
const agentIn = ({ c }: Exchange): string => c.req.param("agent_id") ?? "";

/** A request with a key follows the rules for keys, also on agents that need none. */
const hasKey = ({ c }: Exchange): boolean => c.req.header("X-API-Key") !== undefined;

/** The caller whose JWT is its whole credential; undefined for other requests, and where the agent needs a key. */
export async function keylessCaller(exchange: Exchange, { keyless }: KeylessDeps): Promise<KeylessCaller | undefined> {
  const token = tokenOf(exchange);
  if (!keyless || hasKey(exchange) || !token?.includes(".")) return undefined;
  const agentId = agentIn(exchange);
  return (await keyless.opens(agentId)) ? await keyless.authenticate(agentId, token) : undefined;
}

/** The path of the metadata (RFC 9728) that an agent's MCP endpoint refers to. */
export const metadataPath = (agentId: string): string => `/.well-known/oauth-protected-resource/agents/${agentId}/mcp`;

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
    ...(isMcp && { resource_metadata: baseUrl(exchange, deps) + metadataPath(agentId) }),
  };
  const written = Object.entries(members).map(([name, value]) => `${name}="${value}"`);
  return ["Bearer", ...(written.length > 0 ? [written.join(", ")] : [])].join(" ");
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

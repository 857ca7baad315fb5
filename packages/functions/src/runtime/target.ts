/** Where a runtime dials, and as whom. */
export interface Target {
  readonly address: string;
  readonly headers: Record<string, string>;
}

/** Throws a `TypeError` for an address that cannot be dialled. */
export function parseTarget(options: { url: string; key: string; agentId?: string }): Target {
  const { url, key, agentId } = options;
  const address = URL.parse(url);
  const scheme = address && SCHEMES[address.protocol];
  if (!address || !scheme)
    throw new TypeError(
      `connect: "${url}" is no address of a control plane; give one like https://host or ws://host:8787`,
    );
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new TypeError("connect: the key is empty or holds characters that no key has; give the agent's runtime key");
  const path = `${address.pathname.replace(/\/+$/, "")}/functions/connect`;
  const headers: Record<string, string> = { Authorization: `Bearer ${key}` };
  if (agentId !== undefined) headers["X-Agent-Id"] = agentId;
  return { address: `${scheme}//${address.host}${path}`, headers };
}

const SCHEMES: Record<string, string> = { "http:": "ws:", "https:": "wss:", "ws:": "ws:", "wss:": "wss:" };

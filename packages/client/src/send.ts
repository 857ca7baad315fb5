import { errorOf, PatchbayError } from "./patchbay-error.ts";

/** The agent that receives the requests. */
export interface Recipient {
  baseUrl: string;
  agentId: string;
  apiKey?: string | undefined;
  token?: string | (() => string | Promise<string>) | undefined;
  callerToken?: (() => string | Promise<string>) | undefined;
  fetch?: typeof fetch | undefined;
}

export interface AgentRequest {
  method?: "GET" | "POST" | "DELETE";
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: object;
  search?: Record<string, string | number | boolean | undefined>;
  signal?: AbortSignal | undefined;
}

/**
 * Sends one request to a path below the agent. Throws `PatchbayError` unless the response is 2xx, and `signal.reason`
 * on abort.
 */
export type Send = (path: string, request: AgentRequest) => Promise<Response>;

export function createSend(recipient: Recipient): Send {
  const { baseUrl, agentId, apiKey, token, callerToken, fetch = globalThis.fetch } = recipient;
  // The service would follow the rules for keys, and ignore a token.
  if (token !== undefined && (apiKey !== undefined || callerToken !== undefined))
    throw new TypeError("A token is a credential of its own: leave out apiKey and callerToken.");
  const base = `${baseUrl.replace(/\/+$/, "")}/agents/${encodeURIComponent(agentId)}`;

  return async function send(path, { method = "GET", headers, body, search = {}, signal }) {
    const given = Object.entries(search).flatMap(([name, value]) => (value === undefined ? [] : [[name, `${value}`]]));
    const query = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    const bearer = typeof token === "function" ? await token() : token;
    // A header's own error would quote the key.
    for (const [name, secret] of Object.entries({ "API key": apiKey, token: bearer }))
      if (secret !== undefined && !/^[\x21-\x7e]+$/.test(secret))
        throw new TypeError(`The ${name} contains characters that a header cannot carry. Copy it again.`);
    const proof = callerToken && { "X-Patchbay-Caller": await callerToken() };
    // Throws TypeError for a malformed address or header here, so that `fetch` throws it only when the network fails.
    const request = new Request(`${base}${path}${query}`, {
      method,
      redirect: "manual", // A redirect would send the key to another address.
      headers: {
        ...(apiKey !== undefined && { "X-API-Key": apiKey }),
        ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }),
        ...proof,
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    let response: Response;
    try {
      response = await fetch(request);
    } catch (cause) {
      signal?.throwIfAborted();
      throw new PatchbayError("unreachable", `${baseUrl} does not answer.`, { cause });
    }
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      const { status } = response;
      const message = `${baseUrl} redirects to another address, which the client does not follow. Set baseUrl to that address.`;
      throw new PatchbayError("invalid_response", message, { status });
    }
    if (!response.ok) throw await errorOf(response);
    return response;
  };
}

import { clearTimer, setTimeout } from "@patchbay/kit/time";
import http, { type IncomingMessage, type RequestOptions } from "node:http";
import https from "node:https";
import { ModelError } from "@patchbay/engine/ports/model-provider";
import { trueCause } from "@patchbay/engine/ports/open-files";

const CONNECT_MS = 10_000;
const REFUSAL_UNITS = 65_536;

/**
 * The `fetch` for SDKs: one request over Node's own client, on its agents, which keep connections and know proxies. A
 * successful response has only what the SDKs read: status, headers, and a `body` of bytes to be read once. Web streams
 * would cost more than the request. Rejects without a response; an abort destroys the connection.
 */
export function createProviderFetch(): typeof fetch {
  let last: { url: string; headers: unknown; options: RequestOptions } | undefined;

  /** A client requests one address repeatedly, usually with the same headers. */
  function optionsOf(url: string, { method = "GET", headers }: RequestInit): RequestOptions {
    if (last?.url !== url || last.headers !== headers || last.options.method !== method)
      last = { url, headers, options: { ...addressOf(url), method, headers: sentHeaders(headers as Headers) } };
    return last.options;
  }

  return async (input, init = {}) => {
    const { body: sent, signal } = init;
    const url = input instanceof Request ? input.url : input.toString();
    const response = await send(optionsOf(url, init), sent as string, signal);
    const status = response.statusCode ?? 0;
    const named = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]);
    if (status >= 200 && status < 300)
      return { ok: true, status, url, headers: new Map(named), body: response } as unknown as Response;
    const said = await beginningOf(response);
    const body = status >= 300 && status < 400 ? redirected(url, response.headers.location) : said;
    return new Response(body, { status, headers: named });
  };
}

/** The beginning of a refusal. Never rejects: a refusal that breaks off keeps its status. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  let text = "";
  try {
    for await (const chunk of response.setEncoding("utf8")) if ((text += chunk).length > REFUSAL_UNITS) break;
  } catch {
    // What has arrived counts.
  }
  return text;
}

/** Where a request goes, and its headers, as a provider's package makes them. */
export interface BuiltRequest {
  url: string;
  headers: Headers;
}

/** Keeps the last request: for an account with a fixed key, `build` would make the same one again. */
export function keptRequest<Key extends string>(
  build: (key: Key) => Promise<BuiltRequest>,
): (key: Key) => Promise<BuiltRequest> {
  let last: { key: Key; built: Promise<BuiltRequest> } | undefined;
  return (key) => {
    if (last?.key !== key) last = { key, built: build(key) };
    return last.built;
  };
}

/** Proxies that compress an event stream hold its events back. */
const sentHeaders = (headers: Headers) => ({ "accept-encoding": "identity", ...Object.fromEntries(headers) });

/** Throws for a key that no header can contain: the libraries' own error would quote it in the log. */
export function usableKey(provider: string, key: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(key)) return key;
  throw new ModelError(
    "authentication",
    `${provider} was not asked: its key has a character that no HTTP header takes`,
  );
}

/** A redirect is an error: following it would send the operator's key to an address that the operator did not name. */
function redirected(from: string, to = "an address it does not name"): string {
  const message = `${new URL(from).origin} redirects to ${to}. Redirects are not followed: name the right base address.`;
  return JSON.stringify({ error: { message } });
}

function addressOf(url: string): RequestOptions {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  return { protocol, host: hostname.replace(/^\[|\]$/g, ""), port, path: pathname + search };
}

function send(options: RequestOptions, body: string, signal: AbortSignal | null | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const request = (options.protocol === "https:" ? https : http).request(options, resolve);
    const abort = (): void => void request.destroy(signal?.reason);
    signal?.addEventListener("abort", abort);
    request.on("error", (error) => void trueCause(error).then(reject));
    request.on("close", () => signal?.removeEventListener("abort", abort));
    request.on("socket", (socket) => {
      if (!socket.connecting) return;
      const late = setTimeout(
        () => request.destroy(Object.assign(new Error("connect timed out"), { code: "ETIMEDOUT" })),
        CONNECT_MS,
      );
      const connected = options.protocol === "https:" ? "secureConnect" : "connect";
      for (const event of [connected, "close"]) socket.once(event, () => clearTimer(late));
    });
    request.end(body);
  });
}

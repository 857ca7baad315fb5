import type { JsonObject } from "@patchbay/kit";
import { PatchbayError } from "./patchbay-error.ts";
import { createSend } from "./send.ts";

type Awaitable<T> = T | Promise<T>;

export interface HandleChatOptions {
  /** Service address, such as `https://patchbay.example.com`. */
  url: string;
  /** Agent id. */
  agent: string;
  /** The agent's API key. It stays on this server. */
  key: string;
  /**
   * The sender's role, from your session, never from what the page says. `undefined` allows the functions that are open
   * to everyone. A `Response` is returned as it is: answer 401 to a visitor who must sign in.
   */
  role: (request: Request) => Awaitable<string | Response | undefined>;
  /** The sender's context for your functions: a JSON object up to 8 KiB. Default: none. */
  context?: (request: Request) => Awaitable<JsonObject | undefined>;
  /**
   * The person's id; only this person opens their chats. Default: the role with the context. Set it if several people
   * share a context, or if one person's context changes between requests.
   */
  user?: (request: Request) => Awaitable<string>;
  /** Your identity provider's token for the person, for a service that verifies it. Default: none. */
  callerToken?: (request: Request) => Awaitable<string | undefined>;
  /** Whether the page receives the model's reasoning. Default: false. */
  reasoning?: boolean;
  /** Origins other than the handler's own whose pages may send messages. CORS headers are then up to your server. Default: none. */
  origins?: readonly string[];
  /** Default: the global `fetch`. */
  fetch?: typeof fetch;
}

/** Largest message body, as on the service. */
const MOST_BODY_BYTES = 4 * 2 ** 20;
const MOST_CONTEXT_BYTES = 8 * 2 ** 10;

/**
 * Creates a fetch handler with which pages chat with an agent through the AI SDK's `useChat`. Mount it with the paths
 * below it:
 *
 * - `POST /api/chat` sends a message and streams the answer; `GET /api/chat/{id}/stream` continues a stream.
 * - `POST /api/chat/{id}/stop` cancels the answer; `GET /api/chat/{id}/messages` reads the chat.
 *
 * Adds the key on the server. Role, context and the person come from your functions only; the page's cookies and
 * headers are not passed on. It throws your functions' errors.
 */
export function handleChat(options: HandleChatOptions): (request: Request) => Promise<Response> {
  const { url, agent, key, origins = [] } = options;
  const send = createSend({ baseUrl: url, agentId: agent, apiKey: key, fetch: options.fetch });

  return async function chat(request) {
    const [, encodedId = "", action = "send"] = PATH_OF_CHAT.exec(new URL(request.url).pathname) ?? [];
    const method = METHODS[action as Action];
    if (request.method !== method)
      return failure(405, "method_not_allowed", `${request.method} is not served here.`, { Allow: method });
    if (method === "POST" && !isOwnPage(request, origins))
      return failure(403, "csrf_refused", "Only pages of this site may send messages to this chat.");

    const person = await personOf(request, options);
    if (person instanceof Response) return person;
    const message = action === "send" ? await readMessage(request) : undefined;
    if (message instanceof Response) return message;
    const id = await scopedId(message?.id ?? decoded(encodedId), person.scope);

    try {
      const { headers } = person;
      const search = { ...pageOf(request), ...(options.reasoning && { reasoning: 1 }) };
      const asked = { method, headers, search, signal: request.signal } as const;
      return passOn(
        message
          ? await send("/ui-stream", { ...asked, headers: { ...headers, ...JSON_BODY }, body: { ...message, id } })
          : await send(`/ui-stream/${id}/${action}`, asked),
      );
    } catch (error) {
      // The page has left: no reader receives this response.
      if (request.signal.aborted) return new Response(null, { status: 499 });
      if (error instanceof PatchbayError) return failureOf(error);
      throw error;
    }
  };
}

const METHODS = { send: "POST", stream: "GET", stop: "POST", messages: "GET" } as const;
type Action = keyof typeof METHODS;

const PATH_OF_CHAT = /\/([^/]+)\/(stream|stop|messages)\/?$/;
const JSON_BODY = { "Content-Type": "application/json" };

/** Whether a browser sends the request for a page on this site. Programs, which hold no user cookies, send neither header. */
function isOwnPage({ headers, url }: Request, origins: readonly string[]): boolean {
  const origin = headers.get("Origin");
  if (origin !== null && origins.includes(origin)) return true;
  const site = headers.get("Sec-Fetch-Site");
  if (site !== null) return site === "same-origin";
  if (origin === null) return true;
  // Behind a proxy, the request's address may be this process's own. No page can set these headers for another site.
  const hosts = [headers.get("X-Forwarded-Host"), headers.get("Host"), new URL(url).host];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

/** What the owner's functions say about the person: headers for the service, and the scope for the person's chats. */
async function personOf(
  request: Request,
  options: HandleChatOptions,
): Promise<{ headers: Record<string, string>; scope: unknown } | Response> {
  const role = await options.role(request);
  if (role instanceof Response) return role;
  const context = await options.context?.(request);
  const user = await options.user?.(request);
  const token = await options.callerToken?.(request);
  const bytes = context === undefined ? undefined : new TextEncoder().encode(JSON.stringify(context));
  if (bytes !== undefined && bytes.length > MOST_CONTEXT_BYTES)
    throw new RangeError(
      `The context of a chat has ${bytes.length} bytes as JSON, and may have ${MOST_CONTEXT_BYTES}. Pass an id, and let your functions look up the rest.`,
    );
  const headers = {
    ...(role && { "X-Patchbay-Role": role }),
    ...(bytes && { "X-Patchbay-Context": base64url(bytes) }),
    ...(token && { "X-Patchbay-Caller": token }),
  };
  return { headers, scope: user === undefined ? { role, context } : { user } };
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/** An id from a path. An unencoded id is valid too. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/**
 * The chat's id on the service, which knows all people behind this handler by one key: without the person in it, a page
 * could open another person's chat by its id.
 */
async function scopedId(chatId: string, scope: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([scope, chatId]));
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The message members that the service reads; the page may send others. */
async function readMessage(request: Request) {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get("Content-Type") ?? ""))
    return failure(415, "unsupported_media_type", "Send the message as application/json.");
  const text = await readText(request);
  if (text === undefined)
    return failure(413, "payload_too_large", `The message exceeds the limit of ${MOST_BODY_BYTES} bytes.`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return failure(400, "invalid_request", "The body is not JSON.");
  }
  const { id, messages, trigger, messageId, supersede } = (body ?? {}) as Record<string, unknown>;
  if (typeof id !== "string" || id === "")
    return failure(400, "invalid_request", "The body lacks the id of the chat, a text in `id`.");
  return { id, messages, trigger, messageId, supersede };
}

/** The body, or undefined as soon as it exceeds the limit. */
async function readText({ body }: Request): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  for (let size = 0; ;) {
    const { value, done } = (await reader?.read()) ?? { done: true };
    if (done || value === undefined) return text + decoder.decode();
    size += value.byteLength;
    if (size > MOST_BODY_BYTES) {
      await reader?.cancel().catch(() => undefined);
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

function pageOf({ url }: Request): Record<string, string | undefined> {
  const { searchParams } = new URL(url);
  return { limit: searchParams.get("limit") || undefined, cursor: searchParams.get("cursor") || undefined };
}

/** Service headers for the page. Connection and CORS headers are this server's own. */
const PASSED_ON = [
  "Content-Type",
  "X-Vercel-AI-UI-Message-Stream",
  "X-Accel-Buffering",
  "X-Request-Id",
  "X-Run-Id",
  "X-Thread-Id",
];

/** The response as it arrives: the body is not collected, and a page that leaves ends the request to the service. */
function passOn({ status, body, headers }: Response): Response {
  const kept = PASSED_ON.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  return new Response(body, { status, headers: [...kept, ["Cache-Control", "no-store, no-transform"]] });
}

/** The service's refusal in its own words. Other failures are not the page's fault: they name no address. */
function failureOf({ code, body, status, retryAfterMs }: PatchbayError): Response {
  const retry = retryAfterMs === undefined ? undefined : { "Retry-After": `${Math.ceil(retryAfterMs / 1000)}` };
  if (code === "unreachable") return failure(503, code, "The agent does not answer. Try again in a moment.");
  if (body === undefined)
    return failure(502, code, "The address of the agent answers, but not as the service does. Check `url`.", retry);
  // A refusal with a reason concerns the caller's token: the visitor must sign in again.
  if (body.code === "agent_mismatch" || body.errorMessage === "Authentication failed")
    return failure(502, body.code, `The agent refuses the key of this server: ${body.errorMessage}.`);
  return Response.json(body, { status, ...(retry && { headers: retry }) });
}

function failure(status: number, code: string, errorMessage: string, headers?: Record<string, string>): Response {
  return Response.json({ success: false, errorMessage, code }, { status, ...(headers && { headers }) });
}

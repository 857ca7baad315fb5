import type { JsonObject } from "@patchbay/protocol";
import { PatchbayError } from "./patchbay-error.ts";
import { createSend } from "./send.ts";

type Awaitable<T> = T | Promise<T>;

export interface HandleChatOptions {
  /** Address of the service, such as `https://patchbay.example.com`. */
  url: string;
  /** Id of the agent. */
  agent: string;
  /** API key of the agent. It stays on this server. */
  key: string;
  /**
   * The role of the person who sends a request, from your session, never from what the page says. `undefined` allows the functions that
   * are open to everyone. A `Response` is returned as it is: answer 401 to a visitor who must sign in.
   */
  role: (request: Request) => Awaitable<string | Response | undefined>;
  /** The context of the person for your functions: a JSON object of at most 8 KiB. Default: none. */
  context?: (request: Request) => Awaitable<JsonObject | undefined>;
  /**
   * An id of the person, whose chats only this person opens. Default: the role with the context. Set it if the context is the same for
   * several people, or changes between requests of one.
   */
  user?: (request: Request) => Awaitable<string>;
  /** The token by which your identity provider proves who the person is, for a service that verifies it. Default: none. */
  callerToken?: (request: Request) => Awaitable<string | undefined>;
  /** Whether the page receives the model's reasoning. Default: false. */
  reasoning?: boolean;
  /** Origins other than the handler's own whose pages may send messages. CORS headers are then up to your server. Default: none. */
  origins?: readonly string[];
  /** Default: the global `fetch`. */
  fetch?: typeof fetch;
}

/** Largest body of a message, as on the service. */
const MOST_BODY_BYTES = 4 * 2 ** 20;
const MOST_CONTEXT_BYTES = 8 * 2 ** 10;

/**
 * Creates a fetch handler behind which pages chat with an agent through `useChat` of the AI SDK. Mount it with the paths below it:
 *
 * - `POST /api/chat` sends a message and streams the answer; `GET /api/chat/{id}/stream` continues a stream.
 * - `POST /api/chat/{id}/stop` cancels the answer; `GET /api/chat/{id}/messages` reads the chat.
 *
 * Adds the key on the server. Role, context and the person come from your functions only; cookies and headers of the page are not passed on.
 * It throws the errors of your functions.
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
      // The page is gone: this response reaches no reader.
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

/** Whether a browser sends the request for a page of this site. Programs, which hold no cookies of a person, send neither header. */
function isOwnPage({ headers, url }: Request, origins: readonly string[]): boolean {
  const origin = headers.get("Origin");
  if (origin !== null && origins.includes(origin)) return true;
  const site = headers.get("Sec-Fetch-Site");
  if (site !== null) return site === "same-origin";
  if (origin === null) return true;
  // Behind a proxy, the address of the request may be that of this process. No page can set these headers for another site.
  const hosts = [headers.get("X-Forwarded-Host"), headers.get("Host"), new URL(url).host];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

/** What the owner's functions say about the person: headers for the service, and the scope of the person's chats. */
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

/** An id of a path. One that is not encoded is an id like any other. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

/**
 * The id of a chat on the service, which knows all people of this handler by one key: without the person in it, a page could open
 * the chat of somebody else by its id.
 */
async function scopedId(chatId: string, scope: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([scope, chatId]));
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The members of a message that the service reads; the page may send others. */
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

/** The body, or undefined if it exceeds the limit: it is read no further then. */
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

/** Headers of the service that are for the page. Those of the connection and of CORS are this server's own. */
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

/** What the service refused, in its words. Other failures are not those of the page: they name no address. */
function failureOf({ code, body, status, retryAfterMs }: PatchbayError): Response {
  const retry = retryAfterMs === undefined ? undefined : { "Retry-After": `${Math.ceil(retryAfterMs / 1000)}` };
  if (code === "unreachable") return failure(503, code, "The agent does not answer. Try again in a moment.");
  if (body === undefined)
    return failure(502, code, "The address of the agent answers, but not as the service does. Check `url`.", retry);
  // With a reason, the refusal is one of the caller's token: the visitor must sign in again.
  if (body.code === "agent_mismatch" || body.errorMessage === "Authentication failed")
    return failure(502, body.code, `The agent refuses the key of this server: ${body.errorMessage}.`);
  return Response.json(body, { status, ...(retry && { headers: retry }) });
}

function failure(status: number, code: string, errorMessage: string, headers?: Record<string, string>): Response {
  return Response.json({ success: false, errorMessage, code }, { status, ...(headers && { headers }) });
}

import { ApiError, readProblem, unreachable } from "./api-error.ts";
import { urlOf, type AnswerOf, type Method, type PathOf, type RequestOf } from "./routes.ts";

export interface ClientOptions {
  fetch: typeof fetch;
  /** Called when a request finds that the session has ended. */
  onSignedOut: () => void;
  /** Asks the member for the password and sends it. Resolves with false when the member closes the dialog. */
  confirm: () => Promise<boolean>;
}

/** `RequestOf` without its route. */
interface AnyRequest {
  params?: Record<string, string> | undefined;
  query?: Record<string, string | number | undefined> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  headers?: Record<string, string> | undefined;
}

type Request<M extends Method, Path extends PathOf<M>> =
  object extends RequestOf<M, Path> ? [request?: RequestOf<M, Path>] : [request: RequestOf<M, Path>];

type Send<M extends Method> = <Path extends PathOf<M>>(
  path: Path,
  ...request: Request<M, Path>
) => Promise<AnswerOf<M, Path>>;

/** The API of the console. Every method throws `ApiError`, or the signal's reason when aborted. */
export interface Client {
  get: Send<"GET">;
  post: Send<"POST">;
  put: Send<"PUT">;
  patch: Send<"PATCH">;
  delete: Send<"DELETE">;
  /** Opens an event stream; the caller reads the body. Undefined when the stream has ended (204). */
  open(method: "GET" | "POST", path: string, request: AnyRequest): Promise<Response | undefined>;
}

/** Requests for which a 401 means a wrong password or link, not an ended session. */
const SIGN_IN = /^\/(session|links)/;

export function createClient({ fetch, onSignedOut, confirm }: ClientOptions): Client {
  async function request(method: Method, path: string, options: AnyRequest = {}, accept = "application/json") {
    const send = () => sendOnce(fetch, method, path, options, accept);
    let response = await send();
    if (response.ok) return response;
    let problem = await readProblem(response);
    if (problem.code === "confirmation_required" && (await confirm())) {
      response = await send();
      if (response.ok) return response;
      problem = await readProblem(response);
    }
    if (problem.status === 401 && !(method !== "GET" && SIGN_IN.test(path))) onSignedOut();
    throw problem;
  }

  const sender =
    <M extends Method>(method: M): Send<M> =>
    async (path, ...[options]) => {
      const response = await request(method, path, options as AnyRequest | undefined);
      const answer: unknown = response.status === 204 ? undefined : await readJson(response);
      return answer as never;
    };

  return {
    get: sender("GET"),
    post: sender("POST"),
    put: sender("PUT"),
    patch: sender("PATCH"),
    delete: sender("DELETE"),
    async open(method, path, options) {
      const response = await request(method, path, options, "text/event-stream");
      return response.status === 204 ? undefined : response;
    },
  };
}

async function sendOnce(
  fetch: typeof globalThis.fetch,
  method: Method,
  path: string,
  { params, query, body, signal, headers }: AnyRequest,
  accept: string,
): Promise<Response> {
  try {
    return await fetch(urlOf(path, params, query), {
      method,
      credentials: "same-origin",
      headers: { accept, ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  } catch (cause) {
    signal?.throwIfAborted();
    throw unreachable(cause);
  }
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (cause) {
    throw new ApiError("bad_answer", "The response is incomplete or not JSON.", {
      status: response.status,
      requestId: response.headers.get("x-request-id") ?? undefined,
      cause,
    });
  }
}

import { ApiError, readProblem, unreachable } from "./api-error.ts";
import { addressOf, type AnswerOf, type Method, type PathOf, type RequestOf } from "./routes.ts";

export interface ClientOptions {
  fetch: typeof fetch;
  /** Told when a request found no session any more. */
  onSignedOut: () => void;
  /** Asks the person for the password and sends it; false when they would rather not. */
  confirm: () => Promise<boolean>;
}

/** The loose form of what `RequestOf` types. */
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

/** The console's interface. Everything throws `ApiError`, or the signal's reason when aborted. */
export interface Client {
  get: Send<"GET">;
  post: Send<"POST">;
  patch: Send<"PATCH">;
  delete: Send<"DELETE">;
  /** Opens a stream of events; the caller reads the body. Undefined where nothing is left to send. */
  open(method: "GET" | "POST", path: string, request: AnyRequest): Promise<Response | undefined>;
}

/** Where a 401 says that what was given is wrong, not that the session ended. */
const SIGN_IN = /^\/(session|links)/;

export function createClient({ fetch, onSignedOut, confirm }: ClientOptions): Client {
  async function request(method: Method, path: string, asked: AnyRequest = {}, accept = "application/json") {
    const send = () => sendOnce(fetch, method, path, asked, accept);
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
    async (path, ...[asked]) => {
      const response = await request(method, path, asked as AnyRequest | undefined);
      const answer: unknown = response.status === 204 ? undefined : await readJson(response);
      return answer as never;
    };

  return {
    get: sender("GET"),
    post: sender("POST"),
    patch: sender("PATCH"),
    delete: sender("DELETE"),
    async open(method, path, asked) {
      const response = await request(method, path, asked, "text/event-stream");
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
    return await fetch(addressOf(path, params, query), {
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
    throw new ApiError("bad_answer", "The service's answer broke off or is not JSON.", {
      status: response.status,
      requestId: response.headers.get("x-request-id") ?? undefined,
      cause,
    });
  }
}

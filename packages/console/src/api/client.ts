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

export type Client = ReturnType<typeof createClient>;

/** Requests for which a 401 means a wrong password or link, not an ended session. */
const SIGN_IN = /^\/(session|links)/;

/** The console's API. Every method throws `ApiError`, or the signal's reason when aborted. */
export function createClient({ fetch, onSignedOut, confirm }: ClientOptions) {
  const keys = createKeys();

  /** A POST request has a key, with which the control plane does it once. */
  async function request(method: Method, path: string, options: AnyRequest = {}, accept = "application/json") {
    const deed = method === "POST" ? keys.of(path, options) : undefined;
    const keyed = deed ? { ...options, headers: { "idempotency-key": deed.key } } : options;
    try {
      const response = await sendOnce(fetch, method, path, keyed, accept);
      if (response.ok) return response;
      let problem = await readProblem(response);
      if (problem.code === "confirmation_required" && (await confirm())) {
        const repeated = await sendOnce(fetch, method, path, keyed, accept);
        if (repeated.ok) return repeated;
        problem = await readProblem(repeated);
      }
      if (problem.status === 401 && !(method !== "GET" && SIGN_IN.test(path))) onSignedOut();
      throw problem;
    } catch (error) {
      if (error instanceof ApiError && error.transient) deed?.keep();
      throw error;
    }
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
    /** Opens an event stream; the caller reads the body. Undefined when the stream has ended (204). */
    async open(method: "GET" | "POST", path: string, options: AnyRequest): Promise<Response | undefined> {
      const response = await request(method, path, options, "text/event-stream");
      return response.status === 204 ? undefined : response;
    },
  };
}

/**
 * Idempotency keys, one for each intended change. While a request's outcome is unknown, because no answer arrived, the
 * next equal request gets the same key: a member's retry must not create a second run or key.
 */
function createKeys() {
  const unknown = new Map<string, string>();
  return {
    of(path: string, { params, body }: AnyRequest) {
      // Bodies with passwords are not kept, and their requests make nothing twice.
      const deed = SIGN_IN.test(path) ? undefined : JSON.stringify([path, params, body]);
      const key = (deed !== undefined && unknown.get(deed)) || newKey();
      if (deed !== undefined) unknown.delete(deed);
      return { key, keep: () => deed !== undefined && unknown.set(deed, key) };
    },
  };
}

/** `crypto.randomUUID` is missing on pages that are not served over HTTPS. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

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

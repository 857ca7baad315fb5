import type { ErrorBody, HttpErrorCode } from "@patchbay/protocol";

/**
 * Why a request failed: the `code` from the service's error body, or the client's own.
 *
 * - `unreachable`: no response arrived.
 * - `invalid_response`: the response is not from the service, for example a proxy's error page.
 * - `stream_lost`: an event stream broke and could not be resumed. The run continues on the service.
 */
export type PatchbayErrorCode = HttpErrorCode | "unreachable" | "invalid_response" | "stream_lost";

/**
 * A request that failed. A run without an answer does not throw: `query` returns it with `success: false`, and a stream
 * ends with an `error` event.
 */
export class PatchbayError extends Error {
  override readonly name = "PatchbayError";
  readonly code: PatchbayErrorCode;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  /** Names the request in the service's log. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait before the next request. */
  readonly retryAfterMs: number | undefined;
  /** The service's error body; `details` lists the faults of an invalid request. */
  readonly body: ErrorBody | undefined;

  constructor(
    code: PatchbayErrorCode,
    message: string,
    more: Partial<Pick<PatchbayError, "status" | "requestId" | "retryAfterMs" | "body" | "cause">> = {},
  ) {
    super(message, "cause" in more ? { cause: more.cause } : undefined);
    this.code = code;
    this.status = more.status ?? 0;
    this.requestId = more.requestId;
    this.retryAfterMs = more.retryAfterMs;
    this.body = more.body;
  }

  /** True when the same request may succeed a little later: no response, or status 502, 503 or 504. */
  get transient(): boolean {
    return this.code === "unreachable" || (this.status >= 502 && this.status <= 504);
  }
}

/** Reads the error from a 4xx or 5xx response. */
export async function errorOf(response: Response): Promise<PatchbayError> {
  const { status, headers } = response;
  const seconds = Number(headers.get("retry-after") ?? Number.NaN);
  const more = {
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfterMs: Number.isNaN(seconds) ? undefined : seconds * 1000,
  };
  const body: unknown = await response.json().catch(() => undefined);
  if (!isErrorBody(body))
    return new PatchbayError("invalid_response", `The service answered ${status} without an error body.`, more);
  return new PatchbayError(body.code, body.errorMessage, { ...more, requestId: body.requestId, body });
}

function isErrorBody(body: unknown): body is ErrorBody {
  return typeof body === "object" && body !== null && "errorMessage" in body && "code" in body && "requestId" in body;
}

import type { ConsoleProblem } from "@patchbay/protocol/console";

/** `unreachable`: no response arrived. `bad_answer`: the response does not follow this API, for example because a proxy sent it. */
export type ApiErrorCode = ConsoleProblem["code"] | "unreachable" | "bad_answer";

/** A failed request. `message` is shown to the member. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** Validation errors by body or query property. */
  readonly details: { path: string; message: string }[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ApiErrorCode,
    message: string,
    answer: Partial<Pick<ApiError, "status" | "requestId" | "details" | "retryAfterSeconds" | "cause">> = {},
  ) {
    super(message, { cause: answer.cause });
    this.code = code;
    this.status = answer.status ?? 0;
    this.requestId = answer.requestId;
    this.details = answer.details ?? [];
    this.retryAfterSeconds = answer.retryAfterSeconds;
  }

  /** True when the same request may succeed later. */
  get transient(): boolean {
    return this.code === "unreachable" || this.code === "unavailable" || this.status === 502 || this.status === 504;
  }
}

/** The error for a request without a response. */
export const unreachable = (cause: unknown): ApiError =>
  new ApiError(
    "unreachable",
    "The control plane cannot be reached. Check that it is running and that you are online.",
    { cause },
  );

/** Reads the error from a 4xx or 5xx response. */
export async function readProblem(response: Response): Promise<ApiError> {
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const answer = {
    status: response.status,
    requestId,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : undefined,
  };
  const body: unknown = await response.json().catch(() => undefined);
  if (!isProblem(body))
    return new ApiError(
      "bad_answer",
      `The control plane answered with status ${response.status} and no error message.`,
      answer,
    );
  return new ApiError(body.code, body.errorMessage, {
    ...answer,
    requestId: body.requestId,
    details: body.details ?? [],
  });
}

function isProblem(body: unknown): body is ConsoleProblem {
  return typeof body === "object" && body !== null && "code" in body && "errorMessage" in body;
}

import type { ConsoleProblem } from "@patchbay/protocol/console";

/** `unreachable`: no answer at all. `bad_answer`: an answer that is not of this interface, from a proxy perhaps. */
export type ApiErrorCode = ConsoleProblem["code"] | "unreachable" | "bad_answer";

/** A request that did not do what was asked. `message` is for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** Zero without an answer. */
  readonly status: number;
  readonly requestId: string | undefined;
  /** Faults by the member of the body or query that they are in. */
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

  /** True where the same request may go well a little later. */
  get passing(): boolean {
    return this.code === "unreachable" || this.code === "unavailable" || this.status === 502 || this.status === 504;
  }
}

/** For a request that got no answer. */
export const unreachable = (cause: unknown): ApiError =>
  new ApiError("unreachable", "The service cannot be reached. Is it running, and are you online?", { cause });

/** What an answer with a 4xx or 5xx status says. */
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
    return new ApiError("bad_answer", `The service answered with status ${response.status} and no reason.`, answer);
  return new ApiError(body.code, body.errorMessage, {
    ...answer,
    requestId: body.requestId,
    details: body.details ?? [],
  });
}

function isProblem(body: unknown): body is ConsoleProblem {
  return typeof body === "object" && body !== null && "code" in body && "errorMessage" in body;
}

import type { Fault, HttpErrorCode } from "@patchbay/protocol";

/** A failure that a client may see as a 4xx or 5xx: `message` is public, `cause` stays in the log. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: HttpErrorCode;
  readonly details: readonly Fault[] | undefined;

  constructor(code: HttpErrorCode, message: string, options?: ErrorOptions & { details?: readonly Fault[] }) {
    super(message, options);
    this.code = code;
    this.details = options?.details;
  }
}

/** Faults of a request as one error: every one of them listed, the first in the message. */
export function invalid(faults: readonly Fault[], options?: { code?: HttpErrorCode }): ServiceError {
  const [first] = faults;
  const where = first?.path ? `${first.path}: ` : "";
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : "";
  // A client that offers a choice of models tells by the code that only the model is wrong.
  const code =
    options?.code ?? (faults.length > 0 && faults.every(concernsModel) ? "model_not_allowed" : "invalid_request");
  return new ServiceError(code, `Invalid request: ${where}${first?.message ?? "not understood"}${more}`, {
    details: faults,
  });
}

const concernsModel = ({ path }: Fault): boolean => path === "llmConfig.model" || path === "llm_config.model";

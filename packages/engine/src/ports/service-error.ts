import { type ApprovalStatus, type Fault, type HttpErrorCode, MESSAGES, type RunStatus } from "@patchbay/protocol";
import type { CONSOLE_ERROR_CODES } from "@patchbay/protocol/console";

/** Query API codes, and those that only the console's API has. */
export type ServiceErrorCode = HttpErrorCode | (typeof CONSOLE_ERROR_CODES)[number];

/** An error that clients may see, with a 4xx or 5xx status. `message` is public; `cause` only goes to the log. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ServiceErrorCode;
  readonly details: readonly Fault[] | undefined;
  /** With `conflict`: the state that the change does not fit. */
  readonly status: ApprovalStatus | RunStatus | undefined;

  constructor(
    code: ServiceErrorCode,
    message: string,
    options?: ErrorOptions & { details?: readonly Fault[]; status?: ApprovalStatus | RunStatus },
  ) {
    super(message, options);
    this.code = code;
    this.details = options?.details;
    this.status = options?.status;
  }
}

/** The error for a code that has a standard message, and why it applies. */
export const standardError = (
  code: "agent_mismatch" | "authentication_failed" | "role_not_allowed",
  why?: string,
): ServiceError => new ServiceError(code, why === undefined ? MESSAGES[code] : `${MESSAGES[code]}: ${why}`);

/** One error for all faults in a request. Lists all in `details` and the first in the message. */
export function invalid(faults: readonly Fault[], options?: { code?: HttpErrorCode }): ServiceError {
  const [first] = faults;
  const where = first?.path ? `${first.path}: ` : "";
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : "";
  // Clients that let users choose a model recognise by this code that only the model is wrong.
  const code =
    options?.code ?? (faults.length > 0 && faults.every(concernsModel) ? "model_not_allowed" : "invalid_request");
  return new ServiceError(code, `Invalid request: ${where}${first?.message ?? "not understood"}${more}`, {
    details: faults,
  });
}

const concernsModel = ({ path }: Fault): boolean => path === "llmConfig.model" || path === "llm_config.model";

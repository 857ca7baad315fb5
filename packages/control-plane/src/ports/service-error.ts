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

/** A failure with a reason for people: the command prints only the message and exits 1. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
}

/** Wrong usage that commander cannot see: the command exits 2. */
export class UsageFailure extends CommandFailure {}

/** Any failure's reason, on one line; only a CommandFailure may have detail lines below the first. */
export function reasonOf(error: unknown): string {
  if (error instanceof CommandFailure) return error.message;
  const message = error instanceof Error ? error.message || error.name : String(error);
  const cause = error instanceof TypeError && error.cause instanceof Error ? causeOf(error.cause) : "";
  return `${message}${cause}`.replaceAll(/\s*\n\s*/g, " ").trim();
}

/** `fetch` puts the network's error into its cause; one per address for a host with several. */
function causeOf(cause: Error): string {
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const message = first instanceof Error ? first.message : "";
  return message ? ` (${message})` : "";
}

/** The code of a system error, such as `EACCES`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

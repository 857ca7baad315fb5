import { open } from "node:fs/promises";
import { devNull } from "node:os";

const CODES: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE"]);
/** Errors have few causes; one may be its own. */
const DEEPEST = 8;

/**
 * True for an error because this process, or the machine, has no free file descriptor. The other side is then not at
 * fault for a connection that was not opened.
 */
export function isOutOfFiles(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > DEEPEST) return false;
  if ("code" in error && CODES.has(error.code)) return true;
  if (error instanceof AggregateError && error.errors.some((one) => isOutOfFiles(one, depth + 1))) return true;
  return isOutOfFiles(error.cause, depth + 1);
}

export const OUT_OF_FILES = "this process has no free file descriptor";

/**
 * An unsent request's error, or EMFILE where a missing file descriptor prevented name resolution: resolvers report that
 * as a fault at the name servers.
 */
export async function trueCause(error: unknown): Promise<unknown> {
  if (!isOfResolver(error)) return error;
  return await open(devNull).then(
    async (file) => {
      await file.close();
      return error;
    },
    (fault: unknown) => (isOutOfFiles(fault) ? fault : error),
  );
}

const isOfResolver = (error: unknown): boolean =>
  error instanceof Error &&
  (("syscall" in error && /^(getaddrinfo|query)/.test(String(error.syscall))) || isOfResolver(error.cause));

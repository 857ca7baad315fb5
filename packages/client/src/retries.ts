import { PatchbayError } from "./patchbay-error.ts";
import { pause } from "./pause.ts";

const MAX_RETRIES = 4;
const RETRY_MS = 500;

/** Repeats an attempt after temporary failures, unless the first one made no connection. */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  maxRetries = MAX_RETRIES,
  signal?: AbortSignal,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (tries >= maxRetries || !(error instanceof PatchbayError && error.transient)) throw error;
      if (tries === 0 && neverConnected(error)) throw error;
      await pause(error.retryAfterMs ?? RETRY_MS * 2 ** tries, signal);
    }
  }
}

/** Error codes from Node's `fetch` for a connection that was open. Browsers give no code. */
const BROKEN = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT"];

/** True when no connection was made: probably a wrong address, so the caller learns it without a wait. */
function neverConnected({ cause }: PatchbayError): boolean {
  const reason = cause instanceof Error ? cause.cause : undefined;
  const code = reason instanceof Error && "code" in reason ? reason.code : undefined;
  return typeof code === "string" && !BROKEN.includes(code);
}

import { LIMITS, type JsonValue } from "@patchbay/protocol";
import type { CallContext, Invocation } from "./invocation.ts";
import { toJson } from "./json.ts";
import type { Log } from "./log.ts";

interface CallParts<Context> {
  invocation: Invocation;
  role: string | undefined;
  context: Context;
  signal: AbortSignal;
  log: Log;
  onProgress: ((data: JsonValue) => void) | undefined;
}

/** What the handler of one call is given. After `close`, and once the signal is aborted, progress goes nowhere. */
export function createCallContext<Context>({
  invocation,
  role,
  context,
  signal,
  log,
  onProgress,
}: CallParts<Context>): {
  context: CallContext<Context>;
  close(): void;
} {
  let closed = false;
  const { threadId, sessionId, runId, callId, attempt } = invocation;
  return {
    close() {
      closed = true;
    },
    context: {
      role,
      context,
      threadId,
      sessionId,
      runId,
      callId,
      attempt,
      signal,
      log,
      progress(data) {
        if (closed || signal.aborted || onProgress === undefined) return;
        try {
          const value = toJson(data);
          if (Buffer.byteLength(JSON.stringify(value)) > LIMITS.resultToModelBytes) throw new RangeError("too large");
          onProgress(value);
        } catch (error) {
          log.warn("progress dropped", { error });
        }
      },
    },
  };
}

import { type CallerWithToken, type CallFlow, type GrantedApproval, LIMITS } from "@patchbay/protocol";
import { type JsonObject, type JsonValue } from "@patchbay/kit";
import type { Log } from "./log.ts";
import { toJson } from "./json.ts";

/** One call to one function, as a runtime passes it to {@link Service.invoke}. */
export interface Invocation {
  functionName: string;
  arguments: JsonValue;
  /** The query's role, or the service's default role. */
  role?: string;
  context: JsonObject;
  /** What a token proved about the query's caller. */
  caller?: CallerWithToken;
  threadId: string;
  sessionId?: string;
  runId: string;
  callId: string;
  /** 1 for the first delivery, and higher for each redelivery. */
  attempt: number;
  /** True if an earlier attempt may have run: the function's `reconcile` is asked first. */
  unsure?: boolean;
  /** What the run has seen before the call. Without it, functions with data-flow rules trust nothing. */
  flow?: CallFlow;
  /** The decision by the person who approved the call. Ignored if the function needs no approval. */
  approval?: GrantedApproval;
  /** The time that the caller has left. The function's own timeout applies if it is shorter. */
  timeoutMs: number;
}

/** Options for {@link Service.invoke}. */
export interface InvokeOptions {
  /** Ends the call: as `timed_out` for a reason named `TimeoutError`, else as `cancelled`. */
  signal: AbortSignal;
  /** Called when every check has passed and the handler begins. */
  onBegin?: () => void;
  /** Receives the handler's progress. Not called after the outcome. */
  onProgress?: (data: JsonValue) => void;
  /** Receives the handler's arguments before it runs, if they differ from the sent ones. */
  onReached?: (input: JsonValue) => void;
  /** Receives what the owner's code threw when the call failed or was refused. The outcome does not contain it. */
  onError?: (error: unknown) => void;
  /** Called if the handler is still running when the call ends. `handler` resolves when it returns, and never rejects. */
  onOverrun?: (handler: Promise<void>) => void;
  log: Log;
}

/** The second argument of a handler: the call, its caller, a signal and a log. */
export interface CallContext<Context = JsonObject, Role extends string = string> {
  /** The query's role, or the service's default role. Undefined without both. */
  readonly role: Role | undefined;
  /** The object in the query's `contextJson`, as the service's schema parsed it; `{}` if the query had none. */
  readonly context: Context;
  /**
   * What a token proved about the query's caller. Undefined without a token. For functions with `needsCallerToken` it has
   * the `token`.
   */
  readonly caller: CallerWithToken | undefined;
  /** The query's conversation. */
  readonly threadId: string;
  /** The end user's session that the query named. Undefined if it named none. */
  readonly sessionId: string | undefined;
  /** The query's run id in answers, logs and the console. */
  readonly runId: string;
  /** The same for every delivery of one call. Use it as the key to detect duplicates. */
  readonly callId: string;
  /** 1 for the first delivery of the call. Higher after an approval, a lost connection or a failure with `retries`, and when a runtime did not accept the call. */
  readonly attempt: number;
  /** The decision by the person who approved the call. Undefined if it needed no approval. */
  readonly approval: GrantedApproval | undefined;
  /** Aborted when the call is cancelled or times out. A result after that is dropped. */
  readonly signal: AbortSignal;
  /** Sends `data` to stream readers that asked for live events. Never stored. Dropped if it is not JSON or exceeds 32 KiB. */
  progress(data: unknown): void;
  /** A log with the function, the run and the call in every line. */
  readonly log: Log;
}

interface CallParts<Context> extends Pick<CallContext<Context>, "context" | "approval" | "signal" | "log"> {
  invocation: Invocation;
  onProgress: InvokeOptions["onProgress"] | undefined;
}

/** One call's context for its handler. Progress is dropped after `close` and after the signal is aborted. */
export function createCallContext<Context>({ invocation, onProgress, ...given }: CallParts<Context>): {
  context: CallContext<Context>;
  close(): void;
} {
  let closed = false;
  const { role, caller, threadId, sessionId, runId, callId, attempt } = invocation;
  const { signal, log } = given;
  return {
    close() {
      closed = true;
    },
    context: {
      ...given,
      role,
      caller,
      threadId,
      sessionId,
      runId,
      callId,
      attempt,
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

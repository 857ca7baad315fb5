import { clearTimer, setInterval } from "@patchbay/kit/time";
import type { ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonValue, type Log } from "@patchbay/kit";
import { type LiveEvent, modelStatusText, type RunEvent } from "@patchbay/protocol";
import { eachOf, type RunHandle, type Runs } from "@patchbay/engine/run/api";

/** Clients wait 60 s by default; some wait again after each report. */
const BEAT_MS = 15_000;
/** Each report's number must grow, even if the function reports none. */
const SMALLEST_STEP = 0.001;
const MESSAGE_CHARS = 1_024;

/** The `notifications/progress` members. */
export interface ProgressReport {
  progress: number;
  total?: number;
  message?: string;
}

/** Reports the run's progress to a client that asks for it, until disposed. `reported`: all of the run is reported. */
export function progressOf(
  { runs, log }: { runs: Pick<Runs, "follow">; log: Log },
  run: RunHandle,
  { mcpReq: { _meta, notify } }: ServerContext,
  over: AbortSignal,
): AsyncDisposable & { reported: Promise<void> | undefined } {
  const progressToken = _meta?.progressToken;
  const ended = new AbortController();
  const send = (report: ProgressReport) =>
    notify({ method: "notifications/progress", params: { progressToken: progressToken!, ...report } });
  const failed = (cause: unknown) => log.warn("progress could not be reported", { runId: run.runId, cause });
  const reported =
    progressToken === undefined
      ? undefined
      : reportProgress(runs, run, send, { signal: AbortSignal.any([ended.signal, over]) }).catch(failed);
  return {
    reported,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await reported;
    },
  };
}

/** Sends a call's progress, and a beat while the function is silent, until `signal` aborts or the run ends. */
export async function reportProgress(
  runs: Pick<Runs, "follow">,
  run: RunHandle,
  send: (report: ProgressReport) => Promise<void>,
  { signal, beatMs = BEAT_MS }: { signal: AbortSignal; beatMs?: number },
): Promise<void> {
  let last = 0;
  const report = (own: Partial<ProgressReport>): void => {
    const { progress = last + SMALLEST_STEP } = own;
    last = Math.max(progress, last + SMALLEST_STEP);
    void send({ ...own, progress: last }).catch(() => undefined);
  };
  const beat = setInterval(() => report({}), beatMs).unref();
  try {
    for await (const { body } of eachOf(runs.follow(run, { after: 0, deltas: true, signal }))) {
      const event = JSON.parse(body) as RunEvent | LiveEvent;
      if (event.type !== "toolProgress" && event.type !== "modelStatus") continue;
      beat.refresh();
      report(event.type === "modelStatus" ? { message: modelStatusText(event) } : reportOf(event.data, last));
    }
  } finally {
    clearTimer(beat);
  }
}

function reportOf(data: JsonValue, last: number): ProgressReport {
  const { progress, total, message } = isJsonObject(data) ? data : {};
  if (typeof progress !== "number")
    return { progress: Math.floor(last) + 1, message: textOf(typeof message === "string" ? message : data) };
  return {
    progress,
    ...(typeof total === "number" && { total }),
    ...(typeof message === "string" && { message: textOf(message) }),
  };
}

const textOf = (data: JsonValue): string =>
  (typeof data === "string" ? data : JSON.stringify(data)).slice(0, MESSAGE_CHARS);

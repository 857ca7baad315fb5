import { isJsonObject, type JsonValue } from "@patchbay/protocol";
import { eachOf, type RunHandle, type Runs } from "../../../run/api.ts";

/** Clients wait 60 s by default; some of them wait again after each report. */
const BEAT_MS = 15_000;
/** The number of a report must grow, also where a function reports none. */
const SMALLEST_STEP = 0.001;
const MESSAGE_CHARS = 1_024;

/** The members of `notifications/progress`. */
export interface ProgressReport {
  progress: number;
  total?: number;
  message?: string;
}

/** Sends the progress of a call, and a beat while the function is silent, until `signal` aborts or the run ends. */
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
      const event = JSON.parse(body) as { type: string; data?: JsonValue };
      if (event.type !== "toolProgress" || event.data === undefined) continue;
      beat.refresh();
      report(reportOf(event.data, last));
    }
  } finally {
    clearInterval(beat);
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

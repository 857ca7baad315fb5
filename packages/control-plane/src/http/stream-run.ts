import type { RunHandle } from "../run/api.ts";
import type { Exchange, HttpDeps } from "./deps.ts";
import { eventStream } from "./event-stream.ts";
import { nameRun, traceOf } from "./reply.ts";

/** Below the 15 s that the contract promises, so that a late timer still keeps it. */
const KEEPALIVE_MS = 14_000;
/** The default time-out of a run and 30 s. */
const MAX_AGE_MS = 270_000;

export type StreamDeps = Pick<HttpDeps, "runs" | "log" | "clock" | "keepaliveMs" | "maxStreamAgeMs"> & {
  metrics: Pick<HttpDeps["metrics"], "streamOpened">;
};

export interface StreamView {
  after: number;
  deltas: boolean;
  cancelWhenGone: boolean;
  translate?: (body: string) => string;
}

/** Answers with the run's events. The client counts as a reader of the run until the stream has ended. */
export function streamRun(deps: StreamDeps, exchange: Exchange, run: RunHandle, view: StreamView): Response {
  const { runs, metrics, log } = deps;
  const { headers, c, requestId } = exchange;
  nameRun(exchange, run);
  headers["Content-Type"] = "text/event-stream; charset=utf-8";
  headers["Cache-Control"] = "no-cache, no-transform";
  headers["X-Accel-Buffering"] = "no";

  const reader = runs.attach(run, { cancelWhenGone: view.cancelWhenGone });
  const open = metrics.streamOpened();
  const stream = eventStream({
    follow: (signal) => runs.follow(run, { after: view.after, deltas: view.deltas, signal }),
    ...(view.translate && { translate: view.translate }),
    clock: deps.clock,
    keepaliveMs: deps.keepaliveMs ?? KEEPALIVE_MS,
    maxAgeMs: deps.maxStreamAgeMs ?? MAX_AGE_MS,
    cut: () => c.env.outgoing?.destroy(),
    onEnd() {
      open[Symbol.dispose]();
      reader[Symbol.dispose]();
    },
    onFailure: (error) => log.warn("stream cut short", { requestId, runId: run.runId, error: traceOf(error) }),
  });
  return new Response(stream, { status: 200, headers });
}

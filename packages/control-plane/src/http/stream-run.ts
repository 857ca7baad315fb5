import type { Caller, RunHandle } from "../run/api.ts";
import type { Exchange, HttpDeps } from "./deps.ts";
import { eventStream } from "./event-stream.ts";
import type { StreamOwner, StreamPlace } from "./open-streams.ts";
import { codeOf, nameRun, traceOf } from "./reply.ts";

/** Below the 15 s that the contract promises, so that a late timer still keeps it. */
const KEEPALIVE_MS = 14_000;
/** The default time-out of a run and 30 s. */
const MAX_AGE_MS = 270_000;

/** Streams are open for minutes: sooner there is rarely a place. */
const RETRY_AFTER_SECONDS = "5";
/** The tier whose queries wait for a place instead of being refused. */
const SANDBOX = "sandbox";

export type StreamDeps = Pick<HttpDeps, "runs" | "streams" | "log" | "clock" | "keepaliveMs" | "maxStreamAgeMs">;

export interface StreamView {
  after: number;
  deltas: boolean;
  cancelWhenGone: boolean;
  translate?: (body: string) => string;
}

/** Streams of a caller end soon after its key or token does. */
export function ownerOf({ orgId, keyId }: Caller): StreamOwner {
  return { orgId, keyId, access: { kind: "credential", id: keyId } };
}

/** True for callers whose queries wait for a place among the open streams. */
export function waitsForPlace({ tier }: Caller): boolean {
  return tier === SANDBOX;
}

/** Takes a place among the open streams for `answer`, whose stream gives it back when it ends. */
export async function onPlace(
  { streams }: Pick<StreamDeps, "streams">,
  { c, headers }: Exchange,
  { owner, ...more }: { owner: StreamOwner; runId?: string; wait: boolean },
  answer: (place: StreamPlace) => Promise<Response> | Response,
): Promise<Response> {
  const place = await streams.enter(owner, { ...more, signal: c.req.raw.signal }).catch((error: unknown) => {
    if (codeOf(error) === "rate_limited") headers["Retry-After"] = RETRY_AFTER_SECONDS;
    throw error;
  });
  try {
    return await answer(place);
  } catch (error) {
    place[Symbol.dispose]();
    throw error;
  }
}

/** Answers with the run's events. The client counts as a reader of the run until the stream has ended. */
export function streamRun(
  deps: StreamDeps,
  exchange: Exchange,
  run: RunHandle,
  view: StreamView,
  place: StreamPlace,
): Response {
  const { runs, log } = deps;
  const { headers, c, requestId } = exchange;
  nameRun(exchange, run);
  headers["Content-Type"] = "text/event-stream; charset=utf-8";
  headers["Cache-Control"] = "no-cache, no-transform";
  headers["X-Accel-Buffering"] = "no";

  const reader = runs.attach(run, { cancelWhenGone: view.cancelWhenGone });
  const stream = eventStream({
    revoked: place.revoked,
    follow: (signal) => runs.follow(run, { after: view.after, deltas: view.deltas, signal }),
    ...(view.translate && { translate: view.translate }),
    clock: deps.clock,
    keepaliveMs: deps.keepaliveMs ?? KEEPALIVE_MS,
    maxAgeMs: deps.maxStreamAgeMs ?? MAX_AGE_MS,
    cut: () => c.env.outgoing?.destroy(),
    onEnd() {
      place[Symbol.dispose]();
      reader[Symbol.dispose]();
    },
    onFailure: (error) => log.warn("stream cut short", { requestId, runId: run.runId, error: traceOf(error) }),
  });
  return new Response(stream, { status: 200, headers });
}

import { present } from "@patchbay/protocol";
import type { Principal, Reader, RunHandle } from "../../run/api.ts";
import { codeOf, traceOf } from "../kernel/errors.ts";
import { eventStream, queryTranslator, type Translator } from "../kernel/event-stream.ts";
import type { Exchange, RequestFacts } from "../kernel/exchange.ts";
import type { HttpDeps } from "./deps.ts";
import type { StreamOwner, StreamPlace } from "./open-streams.ts";

/** Below the 15 s of the contract, so that a late timer still meets it. */
const KEEPALIVE_MS = 14_000;
/** Streams of runs that wait for an approval close after 5 minutes; others end before. */
const MAX_AGE_MS = 300_000;

/** Streams stay open for minutes, so an earlier retry would rarely succeed. */
const RETRY_AFTER_SECONDS = "5";
/** Queries of this tier wait for a place; those of others are rejected. */
const SANDBOX = "sandbox";

export type StreamDeps = Pick<HttpDeps, "runs" | "streams" | "log" | "clock" | "keepaliveMs" | "maxStreamAgeMs">;

export interface StreamView {
  after: number;
  deltas: boolean;
  cancelWhenGone: boolean;
  /** Cuts a stream that ends before its run, for clients that resume only then. */
  cutsShort?: boolean;
  headers?: Readonly<Record<string, string>>;
  /** Makes the translator of the stream of a run. Default: the form of the query API. */
  translate?: (run: RunHandle, reader: Reader) => Translator;
}

/** A caller's streams end soon after its key or token. */
export function ownerOf({ orgId, keyId, fixed }: Principal): StreamOwner {
  // Pages count by their tokens: those of one key are of many users, who must not use up each other's streams.
  if (fixed) return { orgId, keyId: fixed.tokenId, access: { kind: "clientToken", id: fixed.tokenId } };
  return { orgId, keyId, access: { kind: "credential", id: keyId } };
}

/** True when the caller's queries wait for a place among the open streams. */
export function waitsForPlace({ tier }: Principal): boolean {
  return tier === SANDBOX;
}

/** Takes a place among the open streams for `answer`. The stream frees it when it ends. */
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

/** Names the run and its role in the line of the request in the log. */
export function noteRun(facts: RequestFacts, { runId, role }: Pick<RunHandle, "runId" | "role">): void {
  Object.assign(facts, { runId, ...present({ role }) });
}

/** Names the run in the response, so that the client can resume or cancel it, and its trace if that is sampled. */
export function nameRun({ headers, facts }: Exchange, run: RunHandle): void {
  noteRun(facts, run);
  headers["X-Run-Id"] = run.runId;
  headers["X-Thread-Id"] = run.threadId;
  if (run.traceId !== undefined) headers["X-Trace-Id"] = run.traceId;
}

/** Streams the run's events. The client counts as a reader of the run until the stream ends. */
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
  Object.assign(headers, view.headers);

  const reader = runs.attach(run, { cancelWhenGone: view.cancelWhenGone });
  const stream = eventStream({
    revoked: place.revoked,
    follow: (signal) => runs.follow(run, { after: view.after, deltas: view.deltas, signal }),
    translator: view.translate?.(run, reader) ?? queryTranslator(),
    clock: deps.clock,
    keepaliveMs: deps.keepaliveMs ?? KEEPALIVE_MS,
    maxAgeMs: deps.maxStreamAgeMs ?? MAX_AGE_MS,
    cutsShort: view.cutsShort ?? false,
    cut: () => c.env.outgoing?.destroy(),
    onEnd() {
      place[Symbol.dispose]();
      reader[Symbol.dispose]();
    },
    onFailure: (error) => log.warn("stream cut short", { requestId, runId: run.runId, error: traceOf(error) }),
  });
  return new Response(stream, { status: 200, headers });
}

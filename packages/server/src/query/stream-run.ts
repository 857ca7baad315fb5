import { present } from "@patchbay/kit";
import type { Principal, Reader, RunHandle } from "@patchbay/engine/run/api";
import { codeOf, traceOf } from "../kernel/errors.ts";
import { eventStream, queryTranslator, type Translator } from "../kernel/event-stream.ts";
import type { Exchange, RequestFacts } from "../kernel/exchange.ts";
import type { HttpDeps } from "./deps.ts";
import type { StreamOwner, StreamSlot } from "./open-streams.ts";

/** Below the contract's 15 s, so that a late timer still meets it. */
const KEEPALIVE_MS = 14_000;
/** Streams of runs that wait for an approval close after 5 minutes; others end earlier. */
const MAX_AGE_MS = 300_000;

/** Streams stay open for minutes, so an earlier retry would rarely succeed. */
const RETRY_AFTER_SECONDS = "5";
/** Queries in this tier wait for a slot; those in other tiers are rejected. */
const SANDBOX = "sandbox";

export type StreamDeps = Pick<HttpDeps, "runs" | "streams" | "log" | "clock" | "keepaliveMs" | "maxStreamAgeMs">;

export interface StreamView {
  after: number;
  deltas: boolean;
  cancelWhenGone: boolean;
  /** Cuts a stream that ends before its run, for clients that resume only then. */
  cutsShort?: boolean;
  headers?: Readonly<Record<string, string>>;
  /** Converts each event's JSON, in the query API's form. */
  toBody?: (body: string) => string;
  /** Creates the stream's translator. Default: the query API's form. */
  translate?: (run: RunHandle, reader: Reader) => Translator;
}

/** The owner of a caller's streams, which end soon after its key or token. */
export function ownerOf({ orgId, keyId, fixed }: Principal): StreamOwner {
  // Pages count by token: a key's pages belong to many users, who must not use up each other's streams.
  if (fixed) return { orgId, keyId: fixed.tokenId, access: { kind: "clientToken", id: fixed.tokenId } };
  return { orgId, keyId, access: { kind: "credential", id: keyId } };
}

/** True when the caller's queries wait for a slot among the open streams. */
export function waitsForSlot({ tier }: Principal): boolean {
  return tier === SANDBOX;
}

/** Occupies a slot among the open streams for `answer`. The stream frees it when it ends. */
export async function withStreamSlot(
  { streams }: Pick<StreamDeps, "streams">,
  { c, headers }: Exchange,
  { owner, ...more }: { owner: StreamOwner; runId?: string; wait: boolean },
  answer: (slot: StreamSlot) => Promise<Response> | Response,
): Promise<Response> {
  const slot = await streams.enter(owner, { ...more, signal: c.req.raw.signal }).catch((error: unknown) => {
    if (codeOf(error) === "rate_limited") headers["Retry-After"] = RETRY_AFTER_SECONDS;
    throw error;
  });
  try {
    return await answer(slot);
  } catch (error) {
    slot[Symbol.dispose]();
    throw error;
  }
}

/** Streams a run that `start` begins once the stream has a slot, or the `known` run that a repeated request joins. */
export function streamStarted(
  deps: StreamDeps,
  exchange: Exchange,
  { known, ...wanted }: { owner: StreamOwner; wait: boolean; known?: RunHandle | undefined },
  start: () => Promise<RunHandle>,
  view: Omit<StreamView, "after">,
): Promise<Response> {
  return withStreamSlot(deps, exchange, { ...wanted, ...(known && { runId: known.runId }) }, async (slot) => {
    const run = await start();
    if (!known) slot.follow(run.runId);
    return streamRun(deps, exchange, run, { ...view, after: 0 }, slot);
  });
}

/** Adds the run and its role to the request's log line. */
export function noteRun(facts: RequestFacts, { runId, role }: Pick<RunHandle, "runId" | "role">): void {
  Object.assign(facts, { runId, ...present({ role }) });
}

/** Adds the run to the response, so that the client can resume or cancel it, and its trace if sampled. */
export function nameRun({ headers, facts }: Exchange, run: RunHandle): void {
  noteRun(facts, run);
  headers["X-Run-Id"] = run.runId;
  headers["X-Thread-Id"] = run.threadId;
  if (run.traceId !== undefined) headers["X-Trace-Id"] = run.traceId;
}

/** Streams the run's events. The client counts as a reader until the stream ends. */
export function streamRun(
  deps: StreamDeps,
  exchange: Exchange,
  run: RunHandle,
  view: StreamView,
  slot: StreamSlot,
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
    revoked: slot.revoked,
    follow: (signal) => runs.follow(run, { after: view.after, deltas: view.deltas, statuses: true, signal }),
    translator: view.translate?.(run, reader) ?? queryTranslator(view.toBody, { deltas: view.deltas }),
    clock: deps.clock,
    keepaliveMs: deps.keepaliveMs ?? KEEPALIVE_MS,
    maxAgeMs: deps.maxStreamAgeMs ?? MAX_AGE_MS,
    cutsShort: view.cutsShort ?? false,
    cut: () => c.env.outgoing?.destroy(),
    onEnd() {
      slot[Symbol.dispose]();
      reader[Symbol.dispose]();
    },
    onFailure: (error) => log.warn("stream cut short", { requestId, runId: run.runId, error: traceOf(error) }),
  });
  return new Response(stream, { status: 200, headers });
}

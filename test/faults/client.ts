import { setTimeout as sleep } from "node:timers/promises";
import type { QueryResponse } from "@patchbay/protocol";
import type { History } from "./history.ts";
import { type Plan, queryOf } from "./plan.ts";
import { readEvents } from "./read-events.ts";

export interface Asked {
  plan: Plan;
  mode: "stream" | "json";
  threadId?: string;
  /** More members of the body. */
  body?: object;
  /** Default: the plan's id. */
  idempotencyKey?: string;
  /** The replica that is asked first; default in turn. */
  replica?: number;
}

/** How a query ended for its client. */
export interface Ending {
  asked: Asked;
  kind: "succeeded" | "failed" | "gaveUp";
  /** Of the failure inside the response, or `http <status>`. */
  code?: string;
  result?: Partial<QueryResponse>;
  runId?: string;
  ms: number;
  /** Statuses that said "not now". */
  refusals: number;
  /** Connections that ended before they should have. */
  breaks: number;
  /** Longest time from such an end to the next sign of the run. */
  gapMs: number;
}

export type Client = (asked: Asked) => Promise<Ending>;

export interface ClientOptions {
  tenant: { name: string; agentId: string; apiKey: string };
  /** Addresses of all replicas, dead ones included. */
  urls: () => readonly string[];
  history: History;
  /** Default 300,000. */
  patienceMs?: number;
}

/** A replica that says nothing for so long is left for another: the keepalive comes each 15 s. */
const SILENCE_MS = 20_000;
const HEADERS_MS = 10_000;
/** A JSON answer comes when the run has ended; the key makes asking again harmless. */
const ANSWER_MS = 45_000;
const PAUSE_MS = 200;
let turn = 0;

/** What a query has come to so far, over all its attempts. */
interface Way {
  runId?: string;
  lastSeq: number;
  replica: number;
  refusals: number;
  breaks: number;
  brokenAt?: number;
  gapMs: number;
}

type Ended = Pick<Ending, "kind" | "code" | "result">;

/**
 * A client that follows the contract: each query has an Idempotency-Key and is repeated with it on another replica after a 503 or
 * a broken connection; a stream that broke is resumed by Last-Event-ID wherever somebody answers.
 */
export function createClient({ tenant, urls, history, patienceMs = 300_000 }: ClientOptions): Client {
  const { agentId, apiKey, name } = tenant;

  return async function ask(asked) {
    const query = asked.plan.id;
    const began = performance.now();
    const way: Way = { lastSeq: 0, replica: asked.replica ?? turn++, refusals: 0, breaks: 0, gapMs: 0 };
    history.note({ kind: "asked", query, tenant: name, mode: asked.mode });
    const ending = (ended: Ended): Ending => {
      const { runId, refusals, breaks, gapMs } = way;
      const ms = performance.now() - began;
      return { asked, ...ended, ...(runId !== undefined && { runId }), refusals, breaks, gapMs, ms };
    };
    while (performance.now() - began < patienceMs) {
      try {
        const ended = await attempt(asked, way);
        if (ended) return ending(ended);
      } catch (error) {
        history.note({ kind: "broken", query, replica: way.replica % urls().length, cause: causeOf(error) });
        way.breaks++;
        way.brokenAt ??= performance.now();
      }
      way.replica++;
      await sleep(PAUSE_MS);
    }
    history.note({ kind: "gaveUp", query });
    return ending({ kind: "gaveUp" });
  };

  /** One request, to one replica. Resolves with nothing when another is to be asked. */
  async function attempt(asked: Asked, way: Way): Promise<Ended | undefined> {
    const silence = new AbortController();
    const limit = asked.mode === "json" ? ANSWER_MS : HEADERS_MS;
    let timer = setTimeout(() => silence.abort(new Error("silent")), limit);
    const heard = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new Error("silent")), SILENCE_MS);
    };
    try {
      const response = await send(asked, way, silence.signal);
      const refused = await refusal(response, asked, way);
      if (refused !== "no") return refused;
      if (asked.mode === "json") return await readAnswer(response, asked, way);
      heard();
      return await readStream(response, asked, way, heard);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  function send(
    { plan, mode, threadId, idempotencyKey, body }: Asked,
    way: Way,
    signal: AbortSignal,
  ): Promise<Response> {
    const base = `${urls()[way.replica % urls().length]}/agents/${agentId}`;
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    if (mode === "stream" && way.runId !== undefined) {
      const after = way.lastSeq > 0 ? { "last-event-id": String(way.lastSeq) } : undefined;
      return fetch(`${base}/runs/${way.runId}/events`, { headers: { ...headers, ...after }, signal });
    }
    return fetch(`${base}/${mode === "json" ? "query" : "query-stream"}`, {
      method: "POST",
      headers: { ...headers, "idempotency-key": idempotencyKey ?? plan.id },
      body: JSON.stringify({ query: queryOf(plan), ...body, ...(threadId !== undefined && { threadId }) }),
      signal,
    });
  }

  async function refusal(response: Response, { plan }: Asked, way: Way): Promise<Ended | undefined | "no"> {
    const runId = response.headers.get("x-run-id");
    if (runId !== null && way.runId === undefined) {
      way.runId = runId;
      history.note({ kind: "run", query: plan.id, runId });
    }
    if (response.status === 200) return "no";
    history.note({ kind: "status", query: plan.id, status: response.status, replica: way.replica % urls().length });
    await response.text();
    if (response.status !== 503) return { kind: "failed", code: `http ${response.status}` };
    way.refusals++;
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    if (!(seconds >= 0)) return { kind: "failed", code: "http 503 without Retry-After" };
    // Where this replica cannot, the next one may; only when each has said so the wait is kept to.
    if (way.refusals % urls().length === 0) await sleep(seconds * 1_000 * (1 + Math.random()));
    return undefined;
  }

  async function readAnswer(response: Response, { plan }: Asked, way: Way): Promise<Ended> {
    const body = await response.text();
    const result = JSON.parse(body) as QueryResponse & { code?: string };
    recovered(way);
    way.runId ??= result.runId ?? "";
    history.note({ kind: "answer", query: plan.id, runId: way.runId, body });
    return result.success ? { kind: "succeeded", result } : { kind: "failed", code: result.code ?? "", result };
  }

  async function readStream(
    response: Response,
    { plan }: Asked,
    way: Way,
    heard: () => void,
  ): Promise<Ended | undefined> {
    for await (const { seq, data } of readEvents(response, heard)) {
      recovered(way);
      way.lastSeq = seq;
      history.note({ kind: "event", query: plan.id, runId: way.runId ?? "", seq, data });
      if (data.startsWith('{"type":"finalResponse"'))
        return { kind: "succeeded", result: JSON.parse(data) as QueryResponse };
      if (data.startsWith('{"type":"error"'))
        return { kind: "failed", code: (JSON.parse(data) as { code: string }).code };
    }
    // Ended after a complete event: the replica hands its runs over.
    way.brokenAt ??= performance.now();
    return undefined;
  }
}

function recovered(way: Way): void {
  if (way.brokenAt !== undefined) way.gapMs = Math.max(way.gapMs, performance.now() - way.brokenAt);
  delete way.brokenAt;
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${(cause as NodeJS.ErrnoException).code ?? cause.message}` : message;
}

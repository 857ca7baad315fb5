import { setTimeout as sleep } from "node:timers/promises";
import type { QueryResponse } from "@patchbay/protocol";
import type { Lab } from "./lab.ts";
import { type Plan, queryOf } from "./plan.ts";

export interface Asked {
  plan: Plan;
  mode: "stream" | "json";
  threadId?: string;
  /** More properties of the body. */
  body?: object;
  /** Default: the plan's id. */
  idempotencyKey?: string;
  /** The replica of the first request. Default: in turn. */
  replica?: number;
}

/** The end of a query, as its client observed it. */
export interface Ending {
  asked: Asked;
  kind: "succeeded" | "failed" | "gaveUp";
  /** Code of the failure inside the response, or `http <status>`. */
  code?: string;
  result?: Partial<QueryResponse>;
  runId?: string;
  ms: number;
  /** Responses that ask to retry later. */
  refusals: number;
  /** Connections that ended early. */
  breaks: number;
  /** The longest time from such an end to the next data of the run. */
  gapMs: number;
}

export type Client = (asked: Asked) => Promise<Ending>;

export interface ClientOptions {
  tenant: { name: string; agentId: string; apiKey: string };
  /** `urls`: of all replicas, including dead ones. */
  lab: { urls: readonly string[] } & Pick<Lab, "history" | "patience">;
  /** Default 300,000. */
  patienceMs?: number;
  /** Timeout of the headers of a stream. Default: 10,000 times the lab's patience. */
  headersMs?: number | undefined;
}

/** After this silence the client uses another replica: a keepalive is due every 15 s. */
const SILENCE_MS = 20_000;
const HEADERS_MS = 10_000;
/** Timeout of a JSON answer, which arrives when the run has ended. The key makes a retry harmless. */
const ANSWER_MS = 45_000;
const PAUSE_MS = 200;
let turn = 0;

/** The state of a query over all its attempts. */
interface Progress {
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
 * a broken connection; a broken stream is resumed by Last-Event-ID at any replica that answers.
 */
export function createClient({ tenant, lab, patienceMs = 300_000, headersMs }: ClientOptions): Client {
  const { agentId, apiKey, name } = tenant;
  const { urls, history, patience } = lab;

  return async function ask(asked) {
    const query = asked.plan.id;
    const began = performance.now();
    const progress: Progress = { lastSeq: 0, replica: asked.replica ?? turn++, refusals: 0, breaks: 0, gapMs: 0 };
    history.note({ kind: "asked", query, tenant: name, mode: asked.mode });
    const ending = (ended: Ended): Ending => {
      const { runId, refusals, breaks, gapMs } = progress;
      const ms = performance.now() - began;
      return { asked, ...ended, ...(runId !== undefined && { runId }), refusals, breaks, gapMs, ms };
    };
    while (performance.now() - began < patienceMs) {
      try {
        const ended = await attempt(asked, progress);
        if (ended) return ending(ended);
      } catch (error) {
        history.note({ kind: "broken", query, replica: progress.replica % urls.length, cause: causeOf(error) });
        progress.breaks++;
        progress.brokenAt ??= performance.now();
      }
      progress.replica++;
      await sleep(PAUSE_MS);
    }
    history.note({ kind: "gaveUp", query });
    return ending({ kind: "gaveUp" });
  };

  /** One request to one replica. Resolves with undefined if the client should try another one. */
  async function attempt(asked: Asked, progress: Progress): Promise<Ended | undefined> {
    const silence = new AbortController();
    const limit = asked.mode === "json" ? ANSWER_MS : (headersMs ?? HEADERS_MS * patience);
    let timer = setTimeout(() => silence.abort(new Error("silent")), limit);
    const onData = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(new Error("silent")), SILENCE_MS);
    };
    try {
      const response = await send(asked, progress, silence.signal);
      const refused = await refusal(response, asked, progress);
      if (refused !== "accepted") return refused;
      if (asked.mode === "json") return await readAnswer(response, asked, progress);
      onData();
      return await readStream(response, asked, progress, onData);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  function send(
    { plan, mode, threadId, idempotencyKey, body }: Asked,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<Response> {
    const base = `${urls[progress.replica % urls.length]}/agents/${agentId}`;
    const headers = { "x-api-key": apiKey, "content-type": "application/json" };
    if (mode === "stream" && progress.runId !== undefined) {
      const after = progress.lastSeq > 0 ? { "last-event-id": String(progress.lastSeq) } : undefined;
      return fetch(`${base}/runs/${progress.runId}/events`, { headers: { ...headers, ...after }, signal });
    }
    return fetch(`${base}/${mode === "json" ? "query" : "query-stream"}`, {
      method: "POST",
      headers: { ...headers, "idempotency-key": idempotencyKey ?? plan.id },
      body: JSON.stringify({ query: queryOf(plan), ...body, ...(threadId !== undefined && { threadId }) }),
      signal,
    });
  }

  async function refusal(
    response: Response,
    { plan }: Asked,
    progress: Progress,
  ): Promise<Ended | undefined | "accepted"> {
    const runId = response.headers.get("x-run-id");
    if (runId !== null && progress.runId === undefined) {
      progress.runId = runId;
      history.note({ kind: "run", query: plan.id, runId });
    }
    if (response.status === 200) return "accepted";
    history.note({
      kind: "status",
      query: plan.id,
      status: response.status,
      replica: progress.replica % urls.length,
    });
    await response.text();
    if (response.status !== 503) return { kind: "failed", code: `http ${response.status}` };
    progress.refusals++;
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    if (!(seconds >= 0)) return { kind: "failed", code: "http 503 without Retry-After" };
    // Another replica may accept the query: wait only after each of them has refused.
    if (progress.refusals % urls.length === 0) await sleep(seconds * 1_000 * (1 + Math.random()));
    return undefined;
  }

  async function readAnswer(response: Response, { plan }: Asked, progress: Progress): Promise<Ended> {
    const body = await response.text();
    const result = JSON.parse(body) as QueryResponse & { code?: string };
    recovered(progress);
    progress.runId ??= result.runId ?? "";
    history.note({ kind: "answer", query: plan.id, runId: progress.runId, body });
    return result.success ? { kind: "succeeded", result } : { kind: "failed", code: result.code ?? "", result };
  }

  async function readStream(
    response: Response,
    { plan }: Asked,
    progress: Progress,
    onData: () => void,
  ): Promise<Ended | undefined> {
    for await (const { seq, data } of readEvents(response, onData)) {
      recovered(progress);
      progress.lastSeq = seq;
      history.note({ kind: "event", query: plan.id, runId: progress.runId ?? "", seq, data });
      if (data.startsWith('{"type":"finalResponse"'))
        return { kind: "succeeded", result: JSON.parse(data) as QueryResponse };
      if (data.startsWith('{"type":"error"'))
        return { kind: "failed", code: (JSON.parse(data) as { code: string }).code };
    }
    // The stream ended after a complete event: the replica hands over its runs.
    progress.brokenAt ??= performance.now();
    return undefined;
  }
}

function recovered(progress: Progress): void {
  if (progress.brokenAt !== undefined) progress.gapMs = Math.max(progress.gapMs, performance.now() - progress.brokenAt);
  delete progress.brokenAt;
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${(cause as NodeJS.ErrnoException).code ?? cause.message}` : message;
}

interface StoredEvent {
  seq: number;
  data: string;
}

/** The stored events of a stream as they arrive. Calls `onData` for all bytes, including comments. */
async function* readEvents(response: Response, onData: () => void): AsyncGenerator<StoredEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body ?? []) {
    onData();
    rest += decoder.decode(bytes, { stream: true });
    const frames = rest.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const lines = frame.split("\n");
      const seq = Number(lines.find((line) => line.startsWith("id: "))?.slice(4));
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (data !== undefined && seq > 0) yield { seq, data };
    }
  }
}

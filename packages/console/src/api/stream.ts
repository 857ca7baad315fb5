import type { LiveEvent, RunEvent } from "@patchbay/protocol";
import { ApiError } from "./api-error.ts";
import { api } from "./api.ts";
import type { Client } from "./client.ts";
import type { BodyOf } from "./routes.ts";
import { readServerEvents } from "./server-events.ts";

/** One event of a run as the page follows it. */
export interface FollowedEvent {
  event: RunEvent | LiveEvent;
  /** Number in the run's log; undefined for events that are not kept. */
  seq: number | undefined;
  /** The block as it was sent. */
  raw: string;
  /** When it came, on the page's clock. */
  receivedAt: number;
}

export interface FollowOptions {
  agentId: string;
  signal: AbortSignal;
  /** For tests. Default: the page's client. */
  client?: Client;
  /** Waits before a broken stream is taken up again. Default: doubling from half a second. */
  pause?: (tries: number, signal: AbortSignal) => Promise<void>;
}

/** Tries in a row without a new event before a stream counts as lost. */
const MAX_TRIES = 6;

/** Sends a query from the playground and follows it to its end, over broken connections too. `onRun` learns the run and its thread as soon as they are known. */
export async function* startQuery(
  body: BodyOf<"POST", "/agents/:agent_id/playground">,
  { onRun, ...options }: FollowOptions & { onRun?: (runId: string, threadId: string | undefined) => void },
): AsyncGenerator<FollowedEvent> {
  const { agentId, signal, client = api } = options;
  const params = { agent_id: agentId };
  const response = await client.open("POST", "/agents/:agent_id/playground", { params, body, signal });
  const runId = response?.headers.get("x-run-id") ?? undefined;
  if (runId) onRun?.(runId, response?.headers.get("x-thread-id") ?? undefined);
  yield* takeUp(response, runId, undefined, options);
}

/** Follows a run after event `after`, or from its first one. */
export async function* followRun(
  runId: string,
  { after, ...options }: FollowOptions & { after?: number | undefined },
): AsyncGenerator<FollowedEvent> {
  const lastId = after?.toString();
  yield* takeUp(await resume(runId, lastId, options), runId, lastId, options);
}

async function* takeUp(
  first: Response | undefined,
  runId: string | undefined,
  from: string | undefined,
  options: FollowOptions,
): AsyncGenerator<FollowedEvent> {
  const { signal, pause = pauseDoubling } = options;
  let response = first;
  let lastId = from;
  for (let tries = 0; ; tries += 1) {
    try {
      if (tries > 0 && runId) response = await resume(runId, lastId, options);
      if (!response?.body) return;
      for await (const { id, data, raw } of readServerEvents(response.body)) {
        const event = JSON.parse(data) as RunEvent | LiveEvent;
        const stored = id !== undefined && id !== lastId;
        lastId = id ?? lastId;
        tries = 0;
        yield { event, seq: stored ? Number(id) : undefined, raw, receivedAt: performance.now() };
        if (event.type === "finalResponse" || event.type === "error") return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && !error.passing) throw error;
    }
    if (!runId || tries >= MAX_TRIES)
      throw new ApiError(
        "unreachable",
        "The connection was lost and could not be taken up again. The run itself goes on.",
      );
    await pause(tries, signal);
  }
}

function resume(runId: string, lastId: string | undefined, { agentId, signal, client = api }: FollowOptions) {
  return client.open("GET", "/agents/:agent_id/runs/:run_id/events", {
    params: { agent_id: agentId, run_id: runId },
    signal,
    ...(lastId !== undefined && { headers: { "last-event-id": lastId } }),
  });
}

async function pauseDoubling(tries: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.min(500 * 2 ** tries, 8_000));
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
  signal.throwIfAborted();
}

import { followEvents, PatchbayError, type StreamedEvent } from "@patchbay/client";
import { ApiError } from "./api-error.ts";
import { api } from "./api.ts";
import type { Client } from "./client.ts";
import type { BodyOf } from "./routes.ts";

/** One run event as the page follows it. */
export interface FollowedEvent extends Pick<StreamedEvent, "event" | "raw"> {
  /** Number in the run's log; undefined for live events, which are not stored. */
  seq: number | undefined;
  /** In milliseconds since 1970, by the page's clock. Live events have no service time. */
  receivedAt: number;
}

export interface FollowOptions {
  agentId: string;
  signal: AbortSignal;
  /** For tests. Default: the page's client. */
  client?: Client;
  /** For tests. Default: waits `ms`. */
  pause?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

/** `onRun` receives the run and its thread before the first event. */
type StartOptions = FollowOptions & { onRun?: (runId: string, threadId: string | undefined) => void };

const QUERY_PATH = "/agents/:agent_id/playground";
const TEST_CALL_PATH = "/agents/:agent_id/functions/:function_name/test-calls-stream";

/** Sends a query from the playground and follows it to its last event, across broken connections. */
export function startQuery(body: BodyOf<"POST", typeof QUERY_PATH>, options: StartOptions) {
  return start(QUERY_PATH, { params: { agentId: options.agentId }, body }, options);
}

/** Calls a function by hand and follows the call to its end, in the same way. */
export function startTestCall(name: string, body: BodyOf<"POST", typeof TEST_CALL_PATH>, options: StartOptions) {
  return start(TEST_CALL_PATH, { params: { agentId: options.agentId, functionName: name }, body }, options);
}

async function* start(
  path: string,
  request: { params: Record<string, string>; body: unknown },
  { onRun, ...options }: StartOptions,
): AsyncGenerator<FollowedEvent> {
  const { signal, client = api } = options;
  const response = await client.open("POST", path, { ...request, signal });
  const runId = response?.headers.get("x-run-id") ?? undefined;
  if (runId) onRun?.(runId, response?.headers.get("x-thread-id") ?? undefined);
  yield* follow(response, runId, undefined, options);
}

/** Follows a run after event `after`, or from its first one. */
export async function* followRun(
  runId: string,
  { after, ...options }: FollowOptions & { after?: number | undefined },
): AsyncGenerator<FollowedEvent> {
  yield* follow(await openEvents(runId, after, options), runId, after, options);
}

async function* follow(
  first: Response | undefined,
  runId: string | undefined,
  after: number | undefined,
  options: FollowOptions,
): AsyncGenerator<FollowedEvent> {
  const { signal, pause } = options;
  const events = followEvents(first, {
    resume: async (lastId) => {
      if (!runId) throw new ApiError("bad_answer", "The connection broke before the run was known.");
      return openEvents(runId, lastId, options);
    },
    after,
    isTransient: (error) => !(error instanceof ApiError) || error.transient,
    signal,
    ...(pause && { pause }),
  });
  try {
    for await (const { event, id, raw } of events) yield { event, seq: id, raw, receivedAt: Date.now() };
  } catch (error) {
    throw error instanceof PatchbayError ? new ApiError("unreachable", error.message, { cause: error }) : error;
  }
}

function openEvents(runId: string, lastId: number | undefined, { agentId, signal, client = api }: FollowOptions) {
  return client.open("GET", "/agents/:agent_id/runs/:run_id/events", {
    params: { agentId, runId },
    signal,
    ...(lastId !== undefined && { headers: { "last-event-id": String(lastId) } }),
  });
}

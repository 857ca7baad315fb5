import type { ControlPlane, ModelProvider, ModelRequest } from "@patchbay/control-plane";
import type { QueryResponse, RunDetail, RunEvent, ThreadDetail } from "@patchbay/protocol";
import { QueryRefused, type FinishedCall, type FinishedQuery, type TestQuery } from "./finished-query.ts";
import type { LogLine } from "./log-lines.ts";
import type { createModelSwitch, Seat } from "./model-switch.ts";

/** What a query left behind for those who may read it, and in the logs. */
export type AskedQuery = Pick<FinishedQuery, "answer" | "events" | "requests" | "history" | "log">;

interface DeskParts {
  plane: ControlPlane;
  agentId: string;
  apiKey: string;
  models: ReturnType<typeof createModelSwitch>;
  log: readonly LogLine[];
}

/** Asks queries over HTTP, as any client does, and gathers what they left behind. */
export function createDeskClient({ plane, agentId, apiKey, models, log }: DeskParts) {
  const agentUrl = `${plane.url}/agents/${agentId}`;
  const busy = new Map<string, Promise<unknown>>();

  function request(path: string, { key = apiKey, body }: { key?: string; body?: object } = {}): Promise<Response> {
    const headers = { "content-type": "application/json", "x-api-key": key };
    return fetch(`${agentUrl}${path}`, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
  }

  async function get<T>(path: string, key: string): Promise<T> {
    return (await (await request(path, { key })).json()) as T;
  }

  async function ask({ settings, ...query }: TestQuery, model: ModelProvider, key: string): Promise<AskedQuery> {
    const firstLine = log.length;
    const seat: Seat = { model, requests: [], errors: [] };
    if (settings) await plane.admin.updateAgent(agentId, { settings });
    const response = await request("/query-stream", { key, body: bodyOf(query) });
    if (response.status !== 200)
      throw new QueryRefused(response.status, (await response.json()) as ConstructorParameters<typeof QueryRefused>[1]);
    const threadId = response.headers.get("x-thread-id")!;
    const runId = response.headers.get("x-run-id")!;
    models.seat(threadId, seat);
    const events = eventsOf(await response.text());
    models.leave(threadId);

    for (const error of seat.errors) throwIfTestsOwn(error);
    return {
      answer: (await get<RunDetail & { result: QueryResponse }>(`/runs/${runId}`, key)).result,
      events,
      requests: seat.requests,
      history: await get<ThreadDetail>(`/threads/${threadId}`, key),
      log: log.slice(firstLine).filter(({ fields }) => (fields["runId"] ?? runId) === runId),
    };
  }

  /** Queries of one thread wait for each other: the thread tells whose model is asked. */
  async function askInTurn(query: TestQuery, model: ModelProvider, key = apiKey): Promise<AskedQuery> {
    const { threadId } = query;
    if (threadId === undefined) return ask(query, model, key);
    const turn = (busy.get(threadId) ?? Promise.resolve()).then(() => ask(query, model, key));
    busy.set(
      threadId,
      turn.catch(() => {}),
    );
    return turn;
  }

  async function callsOf(runId: string): Promise<FinishedCall[]> {
    const { calls } = await plane.store.runs.checkpoint(runId);
    return calls.map(({ functionName, arguments: asked, outcome: ended }) => {
      if (!ended) throw new Error(`The call of ${functionName} has no outcome although its query has ended.`);
      const { input = asked, ...outcome } = ended;
      return { functionName, input, outcome, ...(!outcome.ok && outcome.rule !== undefined && { rule: outcome.rule }) };
    });
  }

  return {
    /** Anything under the agent's address; a GET unless there is a body. */
    request,
    /** What a query's readers can see of it. With the agent's own key unless another is given. */
    ask: askInTurn,
    async query(query: TestQuery, model: ModelProvider): Promise<FinishedQuery> {
      const asked = await askInTurn(query, model);
      return {
        ...asked,
        visibleFunctions: visibleTo(asked.requests[0]),
        calls: await callsOf(asked.answer.runId),
        metrics: await (await fetch(`${plane.url}/metrics`)).text(),
      };
    },
  };
}

function bodyOf({ context, ...query }: TestQuery): object {
  return { ...query, contextJson: context && JSON.stringify(context) };
}

/** The service's own functions: what takes a structured answer is none of them. */
function visibleTo(request: ModelRequest | undefined): string[] {
  return request?.functions.filter((one) => one !== request.respond).map(({ name }) => name) ?? [];
}

function eventsOf(stream: string): RunEvent[] {
  const data = stream.split("\n").filter((line) => line.startsWith("data: "));
  return data.map((line) => JSON.parse(line.slice(6)) as RunEvent);
}

/** What a provider may do wrong is part of a query; that the test's own model cannot go on is the test's to know. */
function throwIfTestsOwn(error: unknown): void {
  if (!(error instanceof Error) || error.name !== "ModelError") throw error;
  const { details } = error as { details?: readonly string[] };
  if (details) throw new Error([error.message, ...details].join("\n- "), { cause: error });
}

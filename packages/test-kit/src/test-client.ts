import type { ModelProvider, ModelRequest } from "@patchbay/control-plane";
import type { StartedControlPlane } from "@patchbay/control-plane/admin";
import type { Approval, ApprovalPage, QueryResponse, RunDetail, RunEvent, ThreadDetail } from "@patchbay/protocol";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Approver, decisionBody, type PlayedDecision } from "./approver.ts";
import { type FinishedCall, type FinishedQuery, type LogLine, QueryRefused, type TestQuery } from "./finished-query.ts";
import type { createModelSwitch, QueryModel } from "./model-choice.ts";

/** The parts of a query that its readers and the operators of both sides can read. */
export type QueryTraces = Pick<FinishedQuery, "answer" | "events" | "requests" | "history" | "log"> & {
  /** What an adapter sent to its client. */
  received?: string;
};

/** An endpoint that accepts queries in its own form. Its answer is a stream, which names its run. */
export interface Adapter {
  path: string;
  /** True if it answers when the run has ended or waits. The run is then found by the request id. */
  answersAtEnd?: boolean;
  request(query: TestQuery, agentId: string): { body: object; headers: Record<string, string> };
}

interface AskOptions {
  key?: string;
  /** The key that reads what the query left behind. Default: `key`. */
  reader?: string;
  adapter?: Adapter;
  /** Called with the run's id before its model is asked. */
  onRun?: (runId: string) => void;
}

interface TestClientOptions {
  plane: StartedControlPlane;
  agentId: string;
  apiKey: string;
  /** A different key from the queries', so that four eyes decide. */
  approverKey: string;
  models: ReturnType<typeof createModelSwitch>;
  log: readonly LogLine[];
}

/** Sends queries over HTTP, as any client does, and collects each query's data. */
export class TestClient {
  readonly #options: TestClientOptions;
  /** Each thread's last query. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(options: TestClientOptions) {
    this.#options = options;
  }

  /** Requests a path below the agent's address: a GET without a body, else a POST. */
  request(
    path: string,
    {
      key = this.#options.apiKey,
      body,
      headers,
    }: { key?: string; body?: object; headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const { plane, agentId } = this.#options;
    return fetch(`${plane.url}/agents/${agentId}${path}`, {
      headers: {
        "content-type": "application/json",
        ...(headers?.["Authorization"] ? {} : { "x-api-key": key }),
        ...headers,
      },
      ...(body && { method: "POST", body: JSON.stringify(body) }),
    });
  }

  /** Waits until a call to the function waits for an approval, and decides on it. */
  async decideOn(functionName: string, played: PlayedDecision): Promise<Approval> {
    const key = this.#options.approverKey;
    for (let i = 0; i < LOOKS; i++) {
      const { items } = await this.#read<ApprovalPage>("/approvals?status=pending&limit=100", { key });
      const found = items.find(({ toolName }) => toolName === functionName);
      if (found) return this.decide(found, played, found.role ?? undefined);
      await sleep(LOOK_EVERY_MS);
    }
    throw new Error(`No call of ${functionName} waits for an approval.`);
  }

  async decide(
    request: Pick<Approval, "approvalId" | "by">,
    played: PlayedDecision,
    role: string | undefined,
  ): Promise<Approval> {
    const body = decisionBody(request, role, played);
    const key = this.#options.approverKey;
    return this.#read<Approval>(`/approvals/${request.approvalId}/decision`, { key, body });
  }

  /** Runs a query and returns what its readers can see. Queries in one thread run in order: the thread selects the model. */
  async ask(
    query: TestQuery,
    model: ModelProvider,
    { key = this.#options.apiKey, ...more }: AskOptions = {},
  ): Promise<QueryTraces> {
    const { threadId } = query;
    const options = { key, ...more };
    if (threadId === undefined) return this.#ask(query, model, options);
    const asked = (this.#last.get(threadId) ?? Promise.resolve()).then(() => this.#ask(query, model, options));
    this.#last.set(
      threadId,
      asked.catch(() => {}),
    );
    return asked;
  }

  async query(query: TestQuery, model: ModelProvider): Promise<FinishedQuery> {
    const asked = await this.ask(query, model);
    return {
      ...asked,
      visibleFunctions: visibleIn(asked.requests[0]),
      calls: await this.#callsOf(asked.answer.runId),
      metrics: await (await fetch(`${this.#options.plane.url}/metrics`)).text(),
    };
  }

  async #ask(
    { settings, approver, ...query }: TestQuery,
    model: ModelProvider,
    { key, reader = key, adapter, onRun }: AskOptions & { key: string },
  ): Promise<QueryTraces> {
    const { plane, agentId, models, log } = this.#options;
    const firstLine = log.length;
    const queryModel: QueryModel = { model, requests: [], errors: [] };
    if (settings) await plane.admin.updateAgent(agentId, { settings });
    const { runId, threadId, stream, answer } = await this.#begin(query, { key, adapter });
    onRun?.(runId);
    models.assign(threadId, queryModel);
    const followed = stream ?? (await this.request(`/runs/${runId}/events`, { key: reader }));
    const [events, received] = await Promise.all([this.#eventsOf(followed, query.role, approver), answer]);
    models.release(threadId);

    for (const error of queryModel.errors) throwIfFromTest(error);
    return {
      answer: (await this.#read<RunDetail & { result: QueryResponse }>(`/runs/${runId}`, { key: reader })).result,
      events,
      requests: queryModel.requests,
      ...(received !== undefined && { received }),
      history: await this.#read<ThreadDetail>(`/threads/${threadId}`, { key: reader }),
      log: log.slice(firstLine).filter(({ fields }) => (fields["runId"] ?? runId) === runId),
    };
  }

  /** Sends a query. `stream` is the query API's response, `answer` an adapter's. */
  async #begin(query: TestQuery, { key, adapter }: { key: string; adapter: Adapter | undefined }): Promise<Begun> {
    if (!adapter) {
      const stream = await this.#accepted("/query-stream", { key, body: bodyOf(query) });
      return { ...runIn(stream), stream };
    }
    const { body, headers } = adapter.request(query, this.#options.agentId);
    const requestId = randomUUID();
    const sent = this.request(adapter.path, { key, body, headers: { ...headers, "x-request-id": requestId } });
    if (adapter.answersAtEnd) {
      const answer = sent.then((response) => response.text());
      return { ...(await this.#runOf(requestId, answer)), answer };
    }
    const response = await sent;
    if (response.status !== 200)
      throw new Error(`${adapter.path} answered ${response.status}: ${await response.text()}`);
    return { ...runIn(response), answer: response.text() };
  }

  /** Waits for a request's run. */
  async #runOf(requestId: string, answer: Promise<string>): Promise<Pick<Begun, "runId" | "threadId">> {
    const { plane, agentId } = this.#options;
    let answered: string | undefined;
    void answer.catch(String).then((text) => (answered = text));
    for (;;) {
      // An answered request begins no other run.
      const last = answered;
      const { items } = await plane.admin.runsOfRequest(requestId, { agentId });
      if (items[0]) return items[0];
      if (last !== undefined) throw new Error(`The request began no run: ${last}`);
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Reads a stream to its end, and lets the approver decide on each request in it. */
  async #eventsOf(response: Response, role: string | undefined, approver?: Approver): Promise<RunEvent[]> {
    const events: RunEvent[] = [];
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (text + chunk).split("\n");
      text = lines.pop()!;
      for (const line of lines) {
        if (!line.startsWith("data: ")) continue;
        const event = JSON.parse(line.slice(6)) as RunEvent;
        events.push(event);
        if (approver && event.type === "approvalRequest") await this.decide(event, await approver(event), role);
      }
    }
    return events;
  }

  async #read<T>(path: string, request: { key: string; body?: object }): Promise<T> {
    return (await (await this.#accepted(path, request)).json()) as T;
  }

  async #accepted(path: string, request: { key: string; body?: object }): Promise<Response> {
    const response = await this.request(path, request);
    if (response.status === 200) return response;
    throw new QueryRefused(response.status, (await response.json()) as RefusedBody);
  }

  async #callsOf(runId: string): Promise<FinishedCall[]> {
    const { calls } = await this.#options.plane.store.runs.checkpoint(runId);
    return calls.map(({ functionName, arguments: asked, outcome: ended }) => {
      if (!ended) throw new Error(`The call of ${functionName} has no outcome although its query has ended.`);
      const { input = asked, ...outcome } = ended;
      return { functionName, input, outcome, ...(!outcome.ok && outcome.rule !== undefined && { rule: outcome.rule }) };
    });
  }
}

interface Begun {
  runId: string;
  threadId: string;
  stream?: Response;
  answer?: Promise<string>;
}

const runIn = ({ headers }: Response): Pick<Begun, "runId" | "threadId"> => ({
  runId: headers.get("x-run-id")!,
  threadId: headers.get("x-thread-id")!,
});

function bodyOf({ context, ...query }: TestQuery): object {
  return { ...query, contextJson: context && JSON.stringify(context) };
}

/** The service's functions, without the one that takes a structured answer. */
function visibleIn(request: ModelRequest | undefined): string[] {
  return request?.functions.filter((candidate) => candidate !== request.respond).map(({ name }) => name) ?? [];
}

type RefusedBody = ConstructorParameters<typeof QueryRefused>[1];

/** How often, and how many times, the approval list is read for a call that is about to wait. */
const LOOK_EVERY_MS = 20;
const LOOKS = 500;

/** Rethrows what the test's own model threw, such as a script that is too short. A provider error belongs to the query. */
function throwIfFromTest(error: unknown): void {
  if (!(error instanceof Error) || error.name !== "ModelError") throw error;
  const { details } = error as { details?: readonly string[] };
  if (details) throw new Error([error.message, ...details].join("\n- "), { cause: error });
}

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ErrorBody, type QueryResponse, type RunEvent, type ToolCall } from "@patchbay/protocol";
import { CommandFailure, codeOf, reasonOf } from "../failure.ts";
import { oneLine } from "../text.ts";
import { followRun, isConnectionLoss, type AnyEvent } from "./follow.ts";

export interface QueryTarget {
  url: string;
  agent: string;
  key: string;
}

export interface QueryBody {
  query: string;
  role?: string;
  contextJson?: string;
  threadId?: string;
  includeDeltas?: boolean;
}

/** The service's refusal of a request, with the body it sent. */
export class Refusal extends CommandFailure {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly body: ErrorBody | undefined;

  constructor(message: string, response: Response, body: ErrorBody | undefined) {
    super(message);
    this.status = response.status;
    const seconds = Number(response.headers.get("Retry-After") ?? NaN);
    this.retryAfterMs = Number.isNaN(seconds) ? undefined : seconds * 1000;
    this.body = body;
  }
}

/** A client of one agent's query endpoints. Each query carries an Idempotency-Key, so that asking again joins the same run. */
export function createQueryClient({ url, agent, key }: QueryTarget) {
  const base = `${url}/agents/${encodeURIComponent(agent)}`;

  async function send(path: string, headers: Record<string, string>, body?: QueryBody): Promise<Response> {
    const request = body && { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${base}${path}`, { ...request, headers: { "X-API-Key": key, ...headers } });
    if (!response.ok) throw await refusalOf(response);
    return response;
  }

  return {
    /** The whole answer at once. */
    async query(body: QueryBody): Promise<QueryResponse> {
      const headers = { "Content-Type": "application/json", "Idempotency-Key": randomUUID() };
      return persist(url, async () => (await send("/query", headers, body)).json() as Promise<QueryResponse>);
    },

    /** Shows each event as it comes, and gives back the answer in the form that `query` has it. */
    async stream(
      body: QueryBody,
      onEvent: (event: AnyEvent) => void,
      onStart: (runId: string) => void,
    ): Promise<QueryResponse> {
      const startedAt = Date.now();
      const accept = { Accept: "text/event-stream" };
      const headers = { ...accept, "Content-Type": "application/json", "Idempotency-Key": randomUUID() };
      const first = await persist(url, () => send("/query-stream", headers, body));
      const runId = first.headers.get("X-Run-Id") ?? "";
      onStart(runId);
      const events = `/runs/${runId}/events`;
      const resume = async (lastId: string | undefined) => {
        const response = await send(events, lastId === undefined ? accept : { ...accept, "Last-Event-ID": lastId });
        return response.status === 204 ? undefined : response;
      };

      const calls = new Map<string, ToolCall>();
      for await (const event of followRun(first, resume)) {
        onEvent(event);
        if (event.type === "toolCall" || event.type === "toolResult") noteCall(calls, event);
        if (event.type === "finalResponse") return answerOf(event);
        if (event.type === "error") return failureOf(event, [...calls.values()], Date.now() - startedAt);
      }
      throw new CommandFailure("The stream ended without an answer.");
    },
  };
}

const MAX_TRIES = 5;

/** Tries again where the connection broke or the service says "later". A service that cannot be reached fails at once. */
async function persist<T>(url: string, ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      const later = error instanceof Refusal && error.status === 503;
      if (speaksNoTls(error))
        throw new CommandFailure(
          `The server at ${url} does not speak TLS. Use http://, or the server's https address.`,
        );
      if (isConnectionLoss(error) && (tries === MAX_TRIES || (tries === 1 && !brokeOff(error))))
        throw new CommandFailure(`${url} does not answer: ${reasonOf(error)}. Is the service running there?`);
      if (tries === MAX_TRIES || !(later || isConnectionLoss(error))) throw error;
      await sleep((later && error.retryAfterMs) || 250 * 2 ** tries);
    }
  }
}

/** True where a connection was there and was lost; false where none came about. */
function brokeOff(error: unknown): boolean {
  return ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT"].includes(causeCode(error));
}

function speaksNoTls(error: unknown): boolean {
  return /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/.test(causeCode(error));
}

function causeCode(error: unknown): string {
  return (error instanceof Error && codeOf(error.cause)) || "";
}

async function refusalOf(response: Response): Promise<Refusal> {
  const body = ErrorBody.safeParse(await response.json().catch(() => undefined));
  if (!body.success) return new Refusal(`The service answered ${response.status}.`, response, undefined);
  const { errorMessage, details = [] } = body.data;
  const faults = details.map(({ path, message }) => (path ? `${path}: ${message}` : message));
  const further = faults.filter((fault) => !errorMessage.includes(fault)).join("; ");
  return new Refusal(oneLine(further ? `${errorMessage} (${further})` : errorMessage), response, body.data);
}

function noteCall(calls: Map<string, ToolCall>, event: Extract<RunEvent, { type: "toolCall" | "toolResult" }>): void {
  if (event.type === "toolCall") {
    calls.set(event.toolCallId, { toolName: event.toolName, parameters: event.parameters, success: false });
    return;
  }
  const { type: _type, toolCallId, parameters, ...outcome } = event;
  const known = { parameters: {}, ...calls.get(toolCallId) };
  calls.set(toolCallId, { ...known, ...outcome, ...(parameters !== undefined && { parameters }) });
}

function answerOf({ type: _type, ...answer }: Extract<RunEvent, { type: "finalResponse" }>): QueryResponse {
  return { success: true, errorMessage: "", ...answer };
}

function failureOf(
  { type: _type, ...failure }: Extract<RunEvent, { type: "error" }>,
  toolInteractions: ToolCall[],
  executionTimeMs: number,
): QueryResponse {
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cacheWriteInputTokens: 0, costUsd: 0 };
  return { success: false, response: "", executionTimeMs, toolInteractions, ...failure, usage };
}

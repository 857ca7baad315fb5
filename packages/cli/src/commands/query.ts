import { randomUUID } from "node:crypto";
import { createClient, PatchbayError, type AgentClient, type Query, type StreamedEvent } from "@patchbay/client";
import { modelStatusText, type QueryResponse, type RunEvent, type ToolCall } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { Command } from "commander";
import { codeOf, CommandFailure, reasonOf } from "@patchbay/loading/failure";
import * as flags from "../options.ts";
import { option } from "../options.ts";
import { connectCommand } from "../printed-commands.ts";
import { oneLine, paintStatus, print, printJson, printStatus } from "../output.ts";
import { type QueryTarget, targetOf, targetOptions } from "./query-target.ts";
import { type Ask, askInTerminal, type Confirmations, createConfirmations } from "./query-approvals.ts";

const queryOptions = () => [
  ...targetOptions("agent that answers (default: the `dev` agent)"),
  option("--role <role>", "role under which the functions are called (default: the service's)"),
  option("--as <roles>", "query once as each listed role (none: no role) and compare the answers", {
    parse: flags.parseList,
  }).conflicts(["role", "thread", "stream"]),
  option("--context <json>", "facts about the caller for the functions: a JSON object up to 64 KiB"),
  option("--thread <id>", "conversation to continue: the threadId from an earlier answer"),
  option("--stream", "show reasoning and function calls as they happen"),
  flags.dataDirOption(),
  flags.databaseOption(),
  flags.jsonOption(),
];
type QueryOptions = flags.OptionsOf<typeof queryOptions>;

export function addQueryCommand(program: Command): void {
  const command = program
    .command("query")
    .description("send a query to an agent and show its answer")
    .argument("<text>", "the query, in plain words")
    .action(query);
  flags
    .examples(
      flags.addOptions(command, queryOptions()),
      'patchbay query "Which orders are late?"                      # queries the service that `patchbay dev` runs here',
      'patchbay query "Refund order #W12" --role manager --stream',
      'patchbay query "And the one before?" --thread thr_... --json',
      'patchbay query "Cancel order #W12" --as customer,agent,manager,none',
    )
    .addHelpText(
      "after",
      "\nWithout --url, --agent and --key it queries the service that `patchbay dev` started on this data folder.",
    );
}

async function query(text: string, options: QueryOptions): Promise<void> {
  const target = targetOf(options);
  await withClient(target, async (client) => {
    if (options.as === undefined) return queryOnce(client, text, { ...options, target });
    const { queryAs } = await import("./query-as.ts");
    await queryAs(text, options.as, { ...options, client, agentId: target.agent });
  });
}

/** Throws a failed request as its explanation. */
async function withClient(
  { url, agent, key }: QueryTarget,
  work: (client: AgentClient) => Promise<void>,
): Promise<void> {
  try {
    await work(createClient({ baseUrl: url, agentId: agent, apiKey: key }));
  } catch (error) {
    throw error instanceof PatchbayError ? explain(error, url) : error;
  }
}

type QueryOnceOptions = QueryOptions & { target: QueryTarget };

async function queryOnce(client: AgentClient, text: string, options: QueryOnceOptions): Promise<void> {
  const body: Query = { query: text, role: options.role, contextJson: options.context, threadId: options.thread };
  using interrupt = announceOnInterrupt();
  using confirmations = createConfirmations(client, options.target, options.json ? undefined : askInTerminal());
  try {
    const answer = options.stream
      ? await streamQuery(client, body, { confirmations, onRun: (runId) => (interrupt.runId = runId) })
      : await queryToEnd(client, body, { confirmations, onRun: (runId) => (interrupt.runId = runId) });
    if (options.json) printJson(answer);
    else showAnswer(answer);
    if (!answer.success) throw new CommandFailure(oneLine(hintFor(answer, options.target)));
  } catch (error) {
    if (options.json && error instanceof PatchbayError && error.body) printJson(error.body);
    throw error;
  }
}

interface Noticed {
  confirmations: Confirmations;
  onRun: (runId: string) => void;
}

/** Seconds between two lines about a detached function that runs. */
const SHOWN_EVERY_S = 60;

/** A query's answer. While its run waits for detached functions, or for calls that were decided here, the query is repeated. */
async function queryToEnd(client: AgentClient, body: Query, { confirmations, onRun }: Noticed): Promise<QueryResponse> {
  const idempotencyKey = randomUUID();
  let waitSeconds: number | undefined;
  for (;;) {
    const answer = await client.query(body, { idempotencyKey, waitSeconds });
    onRun(answer.runId);
    if (answer.code === "call_running") {
      for (const call of answer.calls ?? []) showRunning(call);
      waitSeconds = SHOWN_EVERY_S;
      continue;
    }
    if (answer.code !== "approval_required") return answer;
    let decided = 0;
    for (const request of answer.approvals ?? []) if (await confirmations.decide(request)) decided++;
    if (decided === 0) return answer;
  }
}

/** Sends one query and shows its progress and answer. A run that fails is shown too, and not thrown. */
export const queryFromTerminal = (target: QueryTarget, body: Query, ask: Ask): Promise<void> =>
  withClient(target, async (client) => {
    using confirmations = createConfirmations(client, target, ask);
    const answer = await streamQuery(client, body, { confirmations, onRun() {} });
    if (answer.success) showAnswer(answer);
    else printStatus(`${paintStatus("red", "error:")} ${oneLine(hintFor(answer, target))}`);
  });

/** Shows each event as it arrives; resolves with the answer in the form that `query` returns. */
async function streamQuery(
  client: AgentClient,
  body: Query,
  { confirmations, onRun }: Noticed,
): Promise<QueryResponse> {
  const startedAt = Date.now();
  const calls = new Map<string, ToolCall>();
  for await (const { event } of client.queryStream(
    { ...body, includeDeltas: true },
    { onStart: ({ runId }) => onRun(runId) },
  )) {
    showEvent(event);
    // Not awaited: the decision may be made elsewhere while the question is open.
    if (event.type === "approvalRequest") confirmations.decide(event).catch(showFailure);
    if (event.type === "approvalDecision") confirmations.decided(event.approvalId);
    if (event.type === "toolCall" || event.type === "toolResult") noteCall(calls, event);
    if (event.type === "finalResponse") return answerOf(event);
    if (event.type === "error") return failureOf(event, [...calls.values()], Date.now() - startedAt);
  }
  throw new CommandFailure("The stream ended without an answer.");
}

function noteCall(calls: Map<string, ToolCall>, event: Extract<RunEvent, { type: "toolCall" | "toolResult" }>): void {
  if (event.type === "toolCall") {
    calls.set(event.toolCallId, { toolName: event.toolName, parameters: event.parameters, success: false });
    return;
  }
  const { type: _type, toolCallId, parameters, ...outcome } = event;
  const known = { parameters: {}, ...calls.get(toolCallId) };
  calls.set(toolCallId, { ...known, ...outcome, ...present({ parameters }) });
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

/** Until disposed, Ctrl-C prints that the query continues: a client that leaves does not cancel its run. */
function announceOnInterrupt(): Disposable & { runId?: string } {
  const state: Disposable & { runId?: string } = { [Symbol.dispose]: () => void process.off("SIGINT", onInterrupt) };
  function onInterrupt(): void {
    const { runId } = state;
    const how = runId === undefined ? "" : ` as ${runId}; POST /agents/AGENT/runs/${runId}/cancel ends it`;
    printStatus(`The query continues on the service${how}.`);
    process.exit(1);
  }
  process.once("SIGINT", onInterrupt);
  return state;
}

function showAnswer(answer: QueryResponse): void {
  if (answer.success) print(answer.response);
  for (const warning of answer.warnings ?? []) printStatus(`${paintStatus("yellow", "warning")} ${oneLine(warning)}`);
  const run = answer.success ? "" : ` · run ${answer.runId}`;
  printStatus(paintStatus("dim", `${answer.executionTimeMs} ms${run} · to continue: --thread ${answer.threadId}`));
}

function hintFor({ errorMessage, code }: QueryResponse, target: QueryTarget): string {
  if (code !== "agent_session_not_found") return errorMessage;
  return `${errorMessage}: no functions are connected. Start them with \`${connectCommand(target)}\`.`;
}

const showRunning = ({ toolName, startedAt, progress }: NonNullable<QueryResponse["calls"]>[number]): void => {
  const report = progress === undefined ? "" : `: ${brief(progress)}`;
  printStatus(paintStatus("dim", `· waiting for ${oneLine(toolName)}, which runs since ${startedAt}${report}`));
};

const showFailure = (error: unknown): void =>
  printStatus(`${paintStatus("red", "error:")} ${oneLine(reasonOf(error))}`);

function showEvent(event: StreamedEvent["event"]): void {
  // Further lines are indented, so that a line in a thought cannot look like a call.
  if (event.type === "thought") printStatus(paintStatus("dim", `· ${event.content.replaceAll("\n", "\n  ")}`));
  if (event.type === "modelStatus") printStatus(paintStatus("dim", `· ${modelStatusText(event)}`));
  if (event.type === "toolCall")
    printStatus(`${paintStatus("cyan", "→")} ${oneLine(event.toolName)} ${brief(event.parameters)}`);
  if (event.type === "approvalDecision")
    printStatus(paintStatus("dim", `  ${event.decision}${event.reason ? `: ${oneLine(event.reason)}` : ""}`));
  if (event.type === "toolResult" && event.success)
    printStatus(`${paintStatus("green", "✓")} ${oneLine(event.toolName)} ${brief(event.result)}`);
  if (event.type === "toolResult" && !event.success)
    printStatus(`${paintStatus("red", "✗")} ${oneLine(event.toolName)} ${oneLine(event.errorMessage ?? "")}`);
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
}

const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/;

/** A request's failure in one line, with a fix. */
function explain({ cause, code, message, body, requestId }: PatchbayError, url: string): CommandFailure {
  if (cause instanceof Error && NO_TLS.test(codeOf(cause.cause) ?? ""))
    return new CommandFailure(`The server at ${url} does not speak TLS. Use http://, or the server's https address.`);
  if (code === "unreachable")
    return new CommandFailure(`${url} does not answer: ${reasonOf(cause)}. Is the service running there?`);
  const faults = (body?.details ?? []).map(({ path, message }) => (path ? `${path}: ${message}` : message));
  const further = faults.filter((fault) => !message.includes(fault)).join("; ");
  const of = requestId === undefined ? "" : ` [request ${requestId}]`;
  return new CommandFailure(oneLine(`${further ? `${message} (${further})` : message}${of}`));
}

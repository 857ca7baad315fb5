import { isClearText, isLoopback, type QueryResponse } from "@patchbay/protocol";
import { createQueryClient, Refusal, type QueryBody, type QueryTarget } from "../client/query-client.ts";
import type { AnyEvent } from "../client/follow.ts";
import { CommandFailure } from "../failure.ts";
import { paintLog, printJson, say, tell } from "../output.ts";
import { oneLine } from "../text.ts";
import { queryAs } from "./query-as.ts";
import { readDevCredentials } from "../dev/credentials.ts";

export interface QueryOptions {
  url?: string;
  agent?: string;
  key?: string;
  role?: string;
  context?: string;
  thread?: string;
  stream?: true;
  as?: string[];
  json?: true;
  database?: string;
  dataDir: string;
}

/** Asks one query, and shows its answer. */
export async function query(text: string, options: QueryOptions): Promise<void> {
  const target = targetOf(options);
  const client = createQueryClient(target);
  if (options.as) return queryAs(text, options.as, { ...options, client, agentId: target.agent });
  const body: QueryBody = {
    query: text,
    ...(options.role !== undefined && { role: options.role }),
    ...(options.context !== undefined && { contextJson: options.context }),
    ...(options.thread !== undefined && { threadId: options.thread }),
  };
  using waiting = sayOnInterrupt();
  const started = (runId: string) => void (waiting.runId = runId);
  try {
    const answer = options.stream ? await client.stream(body, showEvent, started) : await client.query(body);
    if (options.json) printJson(answer);
    else showAnswer(answer);
    if (!answer.success) throw new CommandFailure(oneLine(hintFor(answer)));
  } catch (error) {
    if (options.json && error instanceof Refusal && error.body) printJson(error.body);
    throw error;
  }
}

function targetOf({ url, agent, key, dataDir }: QueryOptions): QueryTarget {
  const kept = url === undefined || agent === undefined || key === undefined ? readDevCredentials(dataDir) : undefined;
  // The development key is for that service alone.
  const dev = url === undefined || isSameService(url, kept?.baseUrl) ? kept : undefined;
  const target = { url: url ?? dev?.baseUrl, agent: agent ?? dev?.agentId, key: key ?? dev?.apiKey };
  const missing = (["url", "agent", "key"] as const).filter((name) => !target[name]);
  if (missing.length > 0)
    throw new CommandFailure(
      kept && !dev
        ? `Missing ${missing.map((name) => `--${name}`).join(", ")}: the credentials in ${dataDir} are for ${kept.baseUrl} only.`
        : `Missing ${missing.map((name) => `--${name}`).join(", ")}, and ${dataDir} holds no credentials of \`patchbay dev\`.`,
    );
  if (isClearText(target.url ?? ""))
    tell(
      `${paintLog("yellow", "warning")} ${target.url} is not encrypted: the key and the query travel in clear text. Use https://.`,
    );
  return target as QueryTarget;
}

function isSameService(url: string, other: string | undefined): boolean {
  const [a, b] = [URL.parse(url), URL.parse(other ?? "")];
  if (!a || !b || a.protocol !== b.protocol || a.port !== b.port) return false;
  return a.hostname === b.hostname || (isLoopback(a.hostname) && isLoopback(b.hostname));
}

/** Until disposed, Ctrl-C says that the query continues: the service does not end a run because its client left. */
function sayOnInterrupt(): Disposable & { runId?: string } {
  const waiting: Disposable & { runId?: string } = { [Symbol.dispose]: () => void process.off("SIGINT", onInterrupt) };
  function onInterrupt(): void {
    const { runId } = waiting;
    const how = runId === undefined ? "" : ` as ${runId}; POST /agents/AGENT/runs/${runId}/cancel ends it`;
    tell(`The query continues on the service${how}.`);
    process.exit(1);
  }
  process.once("SIGINT", onInterrupt);
  return waiting;
}

function showAnswer(answer: QueryResponse): void {
  if (answer.success) say(answer.response);
  for (const warning of answer.warnings ?? []) tell(`${paintLog("yellow", "warning")} ${oneLine(warning)}`);
  tell(paintLog("dim", `${answer.executionTimeMs} ms · to continue: --thread ${answer.threadId}`));
}

function hintFor({ errorMessage, code }: QueryResponse): string {
  if (code !== "agent_session_not_found") return errorMessage;
  return `${errorMessage}: no functions are connected. Start them with \`patchbay connect FILE --url URL --agent ID --key RUNTIME_KEY\`.`;
}

function showEvent(event: AnyEvent): void {
  // Lines after the first are indented, so that a thought cannot pass for a call.
  if (event.type === "thought") tell(paintLog("dim", `· ${event.content.replaceAll("\n", "\n  ")}`));
  if (event.type === "toolCall") tell(`${paintLog("cyan", "→")} ${oneLine(event.toolName)} ${brief(event.parameters)}`);
  if (event.type === "toolResult" && event.success)
    tell(`${paintLog("green", "✓")} ${oneLine(event.toolName)} ${brief(event.result)}`);
  if (event.type === "toolResult" && !event.success)
    tell(`${paintLog("red", "✗")} ${oneLine(event.toolName)} ${oneLine(event.errorMessage ?? "")}`);
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
}

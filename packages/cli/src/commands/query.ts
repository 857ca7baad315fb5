import type { QueryResponse } from "@patchbay/protocol";
import type { Command } from "commander";
import { createQueryClient, Refusal, type QueryBody, type QueryTarget } from "../client/query-client.ts";
import type { AnyEvent } from "../client/follow.ts";
import { CommandFailure } from "../failure.ts";
import {
  agentOption,
  databaseOption,
  dataDirOption,
  examples,
  jsonOption,
  option,
  parseList,
  parseUrl,
} from "../options.ts";
import { paintLog, printJson, say, tell } from "../output.ts";
import { queryAs } from "./query-as.ts";
import { readDevCredentials } from "../dev/credentials.ts";

interface QueryOptions {
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

export function addQueryCommand(program: Command): void {
  const command = program
    .command("query")
    .description("ask an agent, and show its answer")
    .argument("<text>", "the query, in plain words")
    .addOption(option("--url <url>", "base address of the service").argParser(parseUrl))
    .addOption(agentOption("the agent to ask"))
    .addOption(option("--key <key>", "API key of the agent (better given as PATCHBAY_KEY)"))
    .addOption(option("--role <role>", "role under which the functions are called"))
    .addOption(
      option("--as <roles>", "ask as each of these roles (none: without one), and show them side by side")
        .argParser(parseList)
        .conflicts(["role", "thread", "stream"]),
    )
    .addOption(option("--context <json>", "context for the functions, a JSON object"))
    .addOption(option("--thread <id>", "thread to continue"))
    .addOption(option("--stream", "show reasoning and function calls while they happen"))
    .addOption(dataDirOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(query);
  examples(
    command,
    'patchbay query "Which orders are late?"                      # asks the service that `patchbay dev` runs here',
    'patchbay query "Refund order #W12" --role manager --stream',
    'patchbay query "And the one before?" --thread thr_... --json',
    'patchbay query "Cancel order #W12" --as customer,agent,manager,none',
  ).addHelpText(
    "after",
    "\nWithout --url, --agent and --key it asks the service that `patchbay dev` started on this data folder.",
  );
}

async function query(text: string, options: QueryOptions): Promise<void> {
  const target = targetOf(options);
  const client = createQueryClient(target);
  if (options.as) return queryAs(text, options.as, { ...options, client, agentId: target.agent });
  const body: QueryBody = {
    query: text,
    ...(options.role !== undefined && { role: options.role }),
    ...(options.context !== undefined && { contextJson: options.context }),
    ...(options.thread !== undefined && { threadId: options.thread }),
  };
  try {
    const answer = options.stream ? await client.stream(body, showEvent) : await client.query(body);
    if (options.json) printJson(answer);
    else showAnswer(answer);
    if (!answer.success) throw new CommandFailure(hintFor(answer));
  } catch (error) {
    if (options.json && error instanceof Refusal && error.body) printJson(error.body);
    throw error;
  }
}

function targetOf({ url, agent, key, dataDir }: QueryOptions): QueryTarget {
  const dev = url === undefined || agent === undefined || key === undefined ? readDevCredentials(dataDir) : undefined;
  const target = { url: url ?? dev?.baseUrl, agent: agent ?? dev?.agentId, key: key ?? dev?.apiKey };
  const missing = (["url", "agent", "key"] as const).filter((name) => !target[name]);
  if (missing.length > 0)
    throw new CommandFailure(
      `Missing ${missing.map((name) => `--${name}`).join(", ")}, and ${dataDir} holds no credentials of \`patchbay dev\`.`,
    );
  return target as QueryTarget;
}

function showAnswer(answer: QueryResponse): void {
  if (answer.success) say(answer.response);
  for (const warning of answer.warnings ?? []) tell(`${paintLog("yellow", "warning")} ${warning}`);
  tell(paintLog("dim", `${answer.executionTimeMs} ms · to continue: --thread ${answer.threadId}`));
}

function hintFor({ errorMessage, code }: QueryResponse): string {
  if (code !== "agent_session_not_found") return errorMessage;
  return `${errorMessage}: no functions are connected. Start them with \`patchbay connect FILE --url URL --agent ID --key RUNTIME_KEY\`.`;
}

function showEvent(event: AnyEvent): void {
  if (event.type === "thought") tell(paintLog("dim", `· ${event.content}`));
  if (event.type === "toolCall") tell(`${paintLog("cyan", "→")} ${event.toolName} ${brief(event.parameters)}`);
  if (event.type === "toolResult" && event.success)
    tell(`${paintLog("green", "✓")} ${event.toolName} ${brief(event.result)}`);
  if (event.type === "toolResult" && !event.success)
    tell(`${paintLog("red", "✗")} ${event.toolName} ${event.errorMessage}`);
}

function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  return text.length > 160 ? `${text.slice(0, 159)}…` : text;
}

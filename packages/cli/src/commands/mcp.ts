import { createInterface } from "node:readline";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { isJsonObject, type JsonObject, type JsonValue, present } from "@patchbay/kit";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import * as flags from "../options.ts";
import { option } from "../options.ts";
import { printJson } from "../output.ts";
import { growWithWork } from "../startup.ts";
import { targetOf, targetOptions } from "./query-target.ts";

const EXPOSED = ["functions", "agent", "both"];

const mcpOptions = () => [
  ...targetOptions("agent with the functions (default: the `dev` agent)"),
  option("--role <role>", "role whose functions are tools (default: the key's or the service's role)"),
  option("--expose <what>", `what are tools: ${EXPOSED.join(", ")} (default: functions)`, {
    parse(text: string) {
      if (EXPOSED.includes(text)) return text;
      throw new InvalidArgumentError(`expected one of ${EXPOSED.join(", ")}`);
    },
  }),
  flags.dataDirOption(),
  flags.databaseOption(),
];

export function addMcpCommand(program: Command): void {
  const command = program
    .command("mcp")
    .description("serve an agent's functions to an MCP client that starts processes (stdio)")
    .action(serveStdio);
  flags.examples(
    flags.addOptions(command, mcpOptions()),
    "claude mcp add desk -- patchbay mcp --url https://patchbay.example.com --agent agt_... --role support",
  );
}

/** Passes messages between stdin and the MCP endpoint until stdin ends. Stdout has only the answers, one per line. */
async function serveStdio(options: flags.OptionsOf<typeof mcpOptions>): Promise<void> {
  growWithWork();
  const { url, agent, key } = targetOf(options);
  const query = options.expose === undefined ? "" : `?expose=${options.expose}`;
  const headers = { authorization: `Bearer ${key}`, ...present({ "x-patchbay-role": options.role }) };
  const bridge = createBridge(`${url}/agents/${encodeURIComponent(agent)}/mcp${query}`, headers, printJson);
  const lines = createInterface({ input: process.stdin });
  void bridge.refused.finally(() => lines.close());
  for await (const line of lines) if (line.trim() !== "") bridge.take(line);
  await bridge.close();
}

const VERSION = "io.modelcontextprotocol/protocolVersion";
const SESSION = "mcp-session-id";
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;

/** Sends each message in its own HTTP request, and writes the response. */
function createBridge(address: string, headers: Record<string, string>, write: (message: object) => void) {
  const refused = Promise.withResolvers<string>();
  const open = new Map<string, AbortController>();
  const sending = new Set<Promise<void>>();
  /** The revision that `initialize` agreed on; later revisions name it in each request. */
  let agreed: string | undefined;
  /** The session id from the response to `initialize`, which later requests repeat. */
  let session: string | undefined;

  async function send(message: JsonObject): Promise<void> {
    const { method } = message;
    // A client's reply has the id of a request to it, and is not answered.
    const id = "result" in message || "error" in message ? undefined : message["id"];
    const gone = new AbortController();
    if (id !== undefined) open.set(JSON.stringify(id), gone);
    try {
      const body = JSON.stringify(message);
      const response = await fetch(address, {
        method: "POST",
        headers: { ...headers, ...headersOf(message, agreed), ...(session !== undefined && { [SESSION]: session }) },
        body,
        signal: gone.signal,
      });
      if (method === "initialize") session = response.headers.get(SESSION) ?? undefined;
      for await (const answer of messagesIn(response)) {
        if (answer["jsonrpc"] !== "2.0") {
          const reason = textIn(answer["errorMessage"]) ?? `status ${response.status}`;
          if (response.status === 401 || response.status === 403) refused.resolve(reason);
          if (id !== undefined) write(failed(id, INTERNAL_ERROR, reason));
          continue;
        }
        if (method === "initialize" && isJsonObject(answer["result"]))
          agreed = textIn(answer["result"]["protocolVersion"]);
        write(answer);
      }
    } catch (cause) {
      if (!gone.signal.aborted && id !== undefined)
        write(failed(id, INTERNAL_ERROR, `${address} did not answer: ${reasonOf(cause)}`));
    } finally {
      if (id !== undefined) open.delete(JSON.stringify(id));
    }
  }

  return {
    /** Resolves with the service's reason for refusing the key or its role. */
    refused: refused.promise,
    take(line: string): void {
      const message = parsed(line);
      if (!message) return write(failed(null, PARSE_ERROR, "The line is not a JSON object."));
      const { method, params } = message;
      // Over HTTP, closing its connection cancels a request.
      if (method === "notifications/cancelled" && isJsonObject(params))
        return open.get(JSON.stringify(params["requestId"]))?.abort();
      const sent = send(message).finally(() => sending.delete(sent));
      sending.add(sent);
    },
    /** Ends the open requests. Throws if the service has refused the key. */
    async close(): Promise<void> {
      const reason = await Promise.race([refused.promise, Promise.resolve(undefined)]);
      for (const gone of open.values()) gone.abort();
      await Promise.all(sending);
      if (reason !== undefined) throw new CommandFailure(`The service refused the request: ${reason}`);
    },
  };
}

const failed = (id: JsonValue, code: number, message: string) => ({ jsonrpc: "2.0", id, error: { code, message } });

const textIn = (value: JsonValue | undefined): string | undefined => (typeof value === "string" ? value : undefined);

function parsed(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Headers that must match the message. */
function headersOf({ method, params }: JsonObject, agreed: string | undefined): Record<string, string> {
  const { _meta, name } = isJsonObject(params) ? params : {};
  const version = isJsonObject(_meta) ? textIn(_meta[VERSION]) : undefined;
  return {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...((version ?? agreed) !== undefined && { "mcp-protocol-version": version ?? agreed! }),
    ...(version !== undefined && typeof method === "string" && { "mcp-method": method }),
    ...(version !== undefined && typeof name === "string" && { "mcp-name": inHeader(name) }),
  };
}

/** Non-ASCII names have this form in a header. */
const inHeader = (name: string): string =>
  /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString("base64")}?=`;

/** The messages in a response; a service failure has its own body format. */
async function* messagesIn(response: Response): AsyncGenerator<JsonObject> {
  const { headers, body } = response;
  if (headers.get("content-type")?.startsWith("text/event-stream") && body) {
    const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const { data } of events) {
      const message = parsed(data);
      if (message) yield message;
    }
    return;
  }
  const text = await response.text();
  if (text !== "") yield parsed(text) ?? { errorMessage: `status ${response.status}` };
}

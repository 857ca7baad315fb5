import { AsyncLocalStorage } from "node:async_hooks";
import {
  Client,
  isSpecType,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { serviceFolder } from "@patchbay/functions/sources";
import { present } from "@patchbay/kit";
import { VERSION } from "@patchbay/protocol";
import { type Caller, type HttpServer, type McpOptions, type StdioServer, urlOf } from "./options.ts";

/** Bytes in one message or answer from a server. A result may have 256 KiB; the rest is room for bytes that it leaves out. */
const MESSAGE_BYTES = 16 * 1024 * 1024;
/** Characters from a server's standard error that an error message shows. */
const TAIL_UNITS = 2000;

/** The call that sends a request. */
interface CurrentCall extends Caller {
  /** Called when the server can no longer answer: its event stream for this request has ended. */
  onStreamEnd: () => void;
}
export const currentCall = new AsyncLocalStorage<CurrentCall>();

/** A connected client. */
export interface Opened {
  client: Client;
  /** The last standard error output from the server's process. */
  stderr: () => string;
  /** True if the server knows this client by a session, which it forgets when it restarts. */
  hasSession: () => boolean;
}

/** Connection events. */
export interface Listener {
  /** The server reports changed tools. */
  onTools: () => void;
  /** The message stream ended. The server may have restarted. */
  onSilence: () => void;
  /** Malformed entries in a tool list, by name or by index. The client would refuse the whole list. */
  onMalformed: (tools: readonly string[]) => void;
}

/** Connects to the server, and starts it first if it is a process. Throws an error that ends with the server's own words. */
export async function open(
  { name, server, startTimeoutMs = 30_000 }: McpOptions,
  { onTools, onSilence, onMalformed }: Listener,
): Promise<Opened> {
  const { transport, stderr } = "command" in server ? openProcess(server) : openHttp(server, name, onSilence);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- no event: the client calls this before its own, with the same message
  transport.onmessage = (message) => dropMalformed(message, onMalformed);
  const client = new Client(
    { name: "patchbay", version: VERSION },
    {
      // Without client capabilities, a server can ask neither a person nor a model for anything.
      capabilities: {},
      // The SDK probes a process by starting a second one, and some servers exit on an unknown first request.
      versionNegotiation: { mode: "command" in server ? "legacy" : "auto" },
      listChanged: { tools: { autoRefresh: false, onChanged: onTools } },
    },
  );
  try {
    await client.connect(transport, { timeout: startTimeoutMs });
    return { client, stderr, hasSession: () => transport.sessionId !== undefined };
  } catch (cause) {
    await client.close().catch(() => undefined);
    const reason = cause instanceof Error ? cause.message : String(cause);
    const tail = stderr().trim();
    const words = tail === "" ? "" : ` Its standard error ends with:\n${tail}`;
    throw new Error(`The MCP server "${name}" did not start: ${reason}.${words}`, { cause });
  }
}

function dropMalformed(message: JSONRPCMessage, onMalformed: Listener["onMalformed"]): void {
  const result = "result" in message ? (message.result as Record<string, unknown>) : undefined;
  const tools: unknown = result?.["tools"];
  if (!result || !Array.isArray(tools) || tools.every(isTool)) return;
  result["tools"] = tools.filter(isTool);
  onMalformed(tools.flatMap((tool, index) => (isTool(tool) ? [] : [nameOf(tool) ?? `#${index}`])));
}

function isTool(tool: unknown): boolean {
  try {
    return isSpecType.Tool(tool);
  } catch {
    // A schema with thousands of levels exceeds the stack.
    return false;
  }
}

function nameOf(tool: unknown): string | undefined {
  const name: unknown = typeof tool === "object" && tool !== null && "name" in tool ? tool.name : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}

function openProcess({ command, args = [], env, cwd }: StdioServer): { transport: Transport; stderr: () => string } {
  const folder = cwd ?? serviceFolder();
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...present({ cwd: folder }),
    stderr: "pipe",
    maxBufferSize: MESSAGE_BYTES,
  });
  let tail = "";
  transport.stderr?.on("data", (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-TAIL_UNITS)));
  return { transport, stderr: () => tail };
}

function openHttp(
  server: HttpServer,
  name: string,
  onSilence: () => void,
): { transport: Transport; stderr: () => string } {
  const { token, headers } = server;
  const transport = new HttpTransport(urlOf(server, name), {
    async fetch(url, init) {
      const all = new Headers(init?.headers);
      const isListening = init?.method === "GET" || all.get("mcp-method") === "subscriptions/listen";
      const caller = currentCall.getStore() ?? { role: undefined, context: {} };
      const own = typeof headers === "function" ? headers({ role: caller.role, context: caller.context }) : headers;
      for (const [header, value] of Object.entries(own ?? {})) all.set(header, value);
      if (token !== undefined) all.set("authorization", `Bearer ${token}`);
      const response = await fetch(url, { ...init, headers: all });
      return limited(response, isListening ? onSilence : undefined);
    },
  });
  return { transport, stderr: () => "" };
}

class HttpTransport extends StreamableHTTPClientTransport {
  /** The client waits for an answer until its own time limit, also if the stream for it has ended. */
  override send(message: JSONRPCMessage, options: Parameters<StreamableHTTPClientTransport["send"]>[1] = {}) {
    const onRequestStreamEnd = options.onRequestStreamEnd ?? currentCall.getStore()?.onStreamEnd;
    return super.send(message, { ...options, ...(onRequestStreamEnd && { onRequestStreamEnd }) });
  }
}

/**
 * The same response, whose body fails when one message exceeds its limit. An event stream has a blank line after each
 * message.
 */
function limited(response: Response, onEnd?: () => void): Response {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  let sizeBytes = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = isStream ? endOfMessages(chunk) : -1;
      sizeBytes = end === -1 ? sizeBytes + chunk.byteLength : chunk.byteLength - end;
      if (sizeBytes > MESSAGE_BYTES) controller.error(new RangeError(`the answer exceeds ${MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
    ...(onEnd && { flush: onEnd, cancel: onEnd }),
  });
  return response.body === null ? response : new Response(response.body.pipeThrough(count), response);
}

/**
 * Where the last blank line of a chunk ends, or -1. A blank line divided between two chunks is not found, and counts as
 * part of a message.
 */
function endOfMessages(chunk: Uint8Array): number {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Math.max(text.lastIndexOf("\n\n"), text.lastIndexOf("\r\n\r\n"));
}

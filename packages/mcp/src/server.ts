import {
  type CallToolResult,
  type Client,
  INVALID_PARAMS,
  type Progress,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  type Tool,
} from "@modelcontextprotocol/client";
import {
  type CallContext,
  createLog,
  FunctionError,
  type JsonObject,
  type Log,
  OutcomeUnknownError,
} from "@patchbay/functions";
import { createBackoff } from "@patchbay/functions/sources";
import { currentCaller, open } from "./connection.ts";
import type { McpOptions } from "./options.ts";
import { toFunctionError } from "./results.ts";
import { createSlots } from "./slots.ts";
import { definitionOf, isSameDefinition, type ToolDefinition } from "./tool.ts";

/** The client's own limit must not end a call before the function's: 240 seconds at most. */
const REQUEST_MS = 300_000;
/** Between two messages on the progress of all calls of a server. */
const PROGRESS_MS = 50;

/** The server cannot be reached now, and the call was not sent. */
export class NotRunningError extends FunctionError {}

/** A running server: connected, and connected again with growing pauses when its connection ends. */
export interface Server {
  /** The name that the server gives itself. Empty if it gives none. */
  readonly title: string;
  /** The tools that the server offers now. */
  tools(): readonly ToolDefinition[];
  /** Calls a tool, if the server still offers it with this definition. */
  call(definition: ToolDefinition, input: JsonObject, context: CallContext): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** Starts the server and reads its tools. Rejects if that fails; later failures are tried again. */
export async function startServer(options: McpOptions): Promise<Server> {
  const log = (options.log ?? createLog()).child({ mcpServer: options.name });
  const server = new RunningServer(options, log);
  await server.start();
  return server;
}

class RunningServer implements Server {
  readonly #options: McpOptions;
  readonly #log: Log;
  readonly #slots;
  readonly #backoff = createBackoff({ firstMs: 500, baseMs: 1000, recentMaxMs: 30_000, maxMs: 60_000 });
  #client: Client | undefined;
  #tools = new Map<string, ToolDefinition>();
  #title = "";
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #progressAt = Number.NEGATIVE_INFINITY;

  constructor(options: McpOptions, log: Log) {
    this.#options = options;
    this.#log = log;
    this.#slots = createSlots(options.concurrency ?? 8);
  }

  get title(): string {
    return this.#title;
  }

  tools(): readonly ToolDefinition[] {
    return [...this.#tools.values()];
  }

  async start(): Promise<void> {
    const { client, stderr } = await open(this.#options, () => void this.#readAgain());
    if (this.#isClosed) return await client.close();
    try {
      await this.#read(client);
    } catch (cause) {
      await client.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`The MCP server "${this.#options.name}" did not list its tools: ${reason}`, { cause });
    }
    if (this.#isClosed) return await client.close();
    this.#client = client;
    this.#title = client.getServerVersion()?.name ?? "";
    this.#backoff.reset();
    Object.assign(client, {
      onerror: (error: Error) => this.#log.debug("error of the connection to the MCP server", { error }),
      onclose: () => this.#lost(client, stderr()),
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.close();
  }

  async call(definition: ToolDefinition, input: JsonObject, context: CallContext): Promise<CallToolResult> {
    const release = await this.#slots.take(context.signal);
    try {
      const client = this.#client;
      if (client === undefined) throw this.#notRunning();
      this.#refuseChanged(definition);
      const { role, signal } = context;
      const send = () =>
        client.callTool(
          { name: definition.name, arguments: input },
          {
            signal,
            timeout: REQUEST_MS,
            onprogress: (progress) => this.#forward(progress, context),
            // Otherwise the client refuses a result that does not match, like arguments that were never sent. The gate checks it.
            toolDefinition: { ...definition, outputSchema: undefined } as Tool,
          },
        );
      return await currentCaller.run({ role, context: context.context }, send);
    } catch (error) {
      throw this.#explain(error, context.signal);
    } finally {
      release();
    }
  }

  /** A server that changes a tool while it runs must not receive calls which were accepted for another one. */
  #refuseChanged(definition: ToolDefinition): void {
    if (isSameDefinition(definition, this.#tools.get(definition.name))) return;
    const { name } = this.#options;
    throw new FunctionError(
      `The MCP server "${name}" changed its tool "${definition.name}", so the call was not sent. Restart the service to accept or refuse the change.`,
    );
  }

  /** A runtime may send a limited number of frames. Those of results must not wait for the progress of a server. */
  #forward(progress: Progress, context: CallContext): void {
    const now = performance.now();
    if (now - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = now;
    context.progress(progress);
  }

  #explain(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted || error instanceof FunctionError) return error;
    const { name } = this.#options;
    if (error instanceof SdkHttpError && error.status >= 400 && error.status < 500) {
      // A server that was started again does not know the session any more.
      if (error.status === 404) void this.#client?.close();
      return error.status === 404
        ? this.#notRunning()
        : new FunctionError(`The MCP server "${name}" refused the request with status ${error.status}.`);
    }
    if (error instanceof ProtocolError)
      return error.code === INVALID_PARAMS
        ? toFunctionError(error.message, `The MCP server "${name}" refused the arguments.`)
        : new Error(`the MCP server answered with an error: ${error.message}`, { cause: error });
    if (error instanceof SdkError && error.code === SdkErrorCode.NotConnected) return this.#notRunning();
    if (wasNotSent(error)) return this.#notRunning();
    return new OutcomeUnknownError(`the connection to the MCP server "${name}" ended during the call`, {
      cause: error,
    });
  }

  #notRunning(): NotRunningError {
    return new NotRunningError(`The MCP server "${this.#options.name}" is not running. Try again later.`);
  }

  async #read(client: Client): Promise<void> {
    const { tools } = await client.listTools(
      {},
      { cacheMode: "refresh", timeout: this.#options.startTimeoutMs ?? 30_000 },
    );
    const before = this.#tools;
    this.#tools = new Map(tools.map((tool) => [tool.name, definitionOf(tool)]));
    const changed = [...before.values()].filter((one) => !isSameDefinition(one, this.#tools.get(one.name)));
    if (changed.length > 0)
      this.#log.warn("the MCP server changed tools, which are not called until the service restarts", {
        tools: changed.map(({ name }) => name),
      });
  }

  async #readAgain(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    try {
      await this.#read(client);
    } catch (error) {
      // Whether the tools are those that were accepted is not known now.
      this.#tools = new Map();
      this.#log.error("the MCP server changed its tools and did not list them", { error });
    }
  }

  #lost(client: Client, stderr: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    if (this.#isClosed) return;
    this.#log.error("the connection to the MCP server ended", { stderr });
    this.#startLater();
  }

  #startLater(): void {
    this.#timer = setTimeout(() => {
      this.start().catch((error: unknown) => {
        if (this.#isClosed) return;
        this.#log.error("the MCP server did not start again", { error });
        this.#startLater();
      });
    }, this.#backoff.nextMs()).unref();
  }
}

/** True for an HTTP request that reached no server. */
function wasNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(String((cause as { code?: unknown }).code))) return true;
  return false;
}

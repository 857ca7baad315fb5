import {
  type CallToolResult,
  type Progress,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type Tool,
} from "@modelcontextprotocol/client";
import { type CallContext, FunctionError, type JsonObject, type Log, type LogFields } from "@patchbay/functions";
import { createBackoff, isSameDefinition } from "@patchbay/functions/sources";
import { currentCall, open, type Opened } from "./connection.ts";
import { explain, NotRunningError } from "./results.ts";
import type { McpOptions } from "./options.ts";
import { createSlots } from "./slots.ts";
import { definitionOf, type ToolDefinition } from "./tool.ts";

/** The client's own limit, of 24 days, must not end a call before the function's. */
const REQUEST_MS = 2 ** 31 - 1;
/** Minimum time between two progress messages, over all calls to a server. */
const PROGRESS_MS = 50;
/**
 * A new release may replace an HTTP server between two requests without notice: older tool lists are read again before
 * a call.
 */
const CHECK_MS = 10_000;

/** One handshake with the server. */
interface Connection extends Opened {
  /** When the tools were read, in process milliseconds. `NEVER` after an indication that the server restarted. */
  checkedAt: number;
  /** Calls in flight. They keep a replaced connection open. */
  calls: number;
}
const NEVER = Number.NEGATIVE_INFINITY;

/** A running server, reconnected with growing pauses when its connection ends. */
export interface Server {
  /** The server's own name. Empty if it has none. */
  readonly title: string;
  /** The tools that the server offers now. */
  tools(): readonly ToolDefinition[];
  /** Calls a tool, if the server still offers it with this definition. */
  call(definition: ToolDefinition, input: JsonObject, context: CallContext): Promise<CallToolResult>;
  close(): Promise<void>;
}

/** Starts the server and reads its tools. Rejects if that fails; later failures are tried again. */
export async function startServer(options: McpOptions, log: Log): Promise<Server> {
  const server = new RunningServer(options, log);
  await server.start();
  return server;
}

class RunningServer implements Server {
  readonly #options: McpOptions;
  readonly #log: Log;
  readonly #slots;
  readonly #backoff = createBackoff({
    firstMs: 500,
    baseMs: 1000,
    recentMaxMs: 30_000,
    dayMaxMs: 60_000,
    maxMs: 60_000,
  });
  /** The current one, and replaced ones with calls in flight. */
  readonly #connections = new Set<Connection>();
  #current: Connection | undefined;
  #check: Promise<void> | undefined;
  #tools = new Map<string, ToolDefinition>();
  #title = "";
  #malformed = "";
  /** The title when the service started; the functions belong to that server. */
  #firstTitle: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #progressAt = NEVER;

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

  /** Connects, reads the tools, and replaces any previous connection. */
  async start(): Promise<void> {
    const opened = await open(this.#options, {
      onTools: () => void this.#readAgain(),
      onSilence: () => {
        connection.checkedAt = NEVER;
        this.#log.debug("the MCP server may have restarted, and is read again before the next call");
      },
      onMalformed: (tools) => this.#warnOfMalformed(tools),
    });
    const connection: Connection = { ...opened, checkedAt: NEVER, calls: 0 };
    const { client } = connection;
    if (this.#isClosed) return await client.close();
    try {
      await this.#read(connection);
    } catch (cause) {
      await client.close();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`The MCP server "${this.#options.name}" did not list its tools: ${reason}`, { cause });
    }
    if (this.#isClosed) return await client.close();
    const before = this.#current;
    this.#current = connection;
    this.#connections.add(connection);
    if (before) this.#closeUnused(before);
    this.#backoff.reset();
    Object.assign(client, {
      onerror: (error: Error) => this.#log.debug("error of the connection to the MCP server", { error }),
      onclose: () => {
        this.#connections.delete(connection);
        this.#lose(connection, { stderr: connection.stderr() });
      },
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#connections].map(({ client }) => client.close()));
  }

  async call(definition: ToolDefinition, input: JsonObject, context: CallContext): Promise<CallToolResult> {
    const release = await this.#slots.take(context.signal);
    let connection: Connection | undefined;
    try {
      connection = await this.#checked();
      context.signal.throwIfAborted();
      this.#refuseChanged(definition);
      connection.calls++;
      return await this.#send(connection, { definition, input, context }).finally(() => connection!.calls--);
    } catch (error) {
      if (connection === undefined || context.signal.aborted || error instanceof FunctionError) throw error;
      // The server may have restarted. It answers an unknown session with 404 or 400.
      if (!(error instanceof ProtocolError)) connection.checkedAt = NEVER;
      throw explain(error, this.#options.name);
    } finally {
      if (connection && connection !== this.#current) this.#closeUnused(connection);
      release();
    }
  }

  #send(
    { client }: Connection,
    { definition, input, context }: { definition: ToolDefinition; input: JsonObject; context: CallContext },
  ): Promise<CallToolResult> {
    const ended = new AbortController();
    const onStreamEnd = () => ended.abort(new SdkError(SdkErrorCode.ConnectionClosed, "the answer ended early"));
    const send = () =>
      client.callTool(
        { name: definition.name, arguments: input },
        {
          signal: AbortSignal.any([context.signal, ended.signal]),
          timeout: REQUEST_MS,
          onprogress: (progress) => this.#forward(progress, context),
          // Otherwise the client reports a mismatched result like arguments that were never sent. The gate checks it.
          toolDefinition: { ...definition, outputSchema: undefined } as Tool,
        },
      );
    return currentCall.run({ role: context.role, context: context.context, onStreamEnd }, send);
  }

  /** The current connection, with the tools that the server offers now. Throws while the server is not running. */
  async #checked(): Promise<Connection> {
    const current = this.#current;
    if (current && "url" in this.#options.server && performance.now() - current.checkedAt > CHECK_MS)
      await (this.#check ??= this.#renew(current).finally(() => (this.#check = undefined)));
    if (this.#current === undefined) throw new NotRunningError(this.#options.name);
    return this.#current;
  }

  /** Reads the tools again, after a new handshake unless the server still knows the session. */
  async #renew(connection: Connection): Promise<void> {
    try {
      if (connection.hasSession())
        try {
          return await this.#read(connection);
        } catch (error) {
          this.#log.debug("the session of the MCP server ended", { error });
        }
      await this.start();
    } catch (error) {
      this.#lose(connection, { error });
    }
  }

  /** A server that changes a tool while it runs must not receive calls accepted for the old one. */
  #refuseChanged(definition: ToolDefinition): void {
    const { name } = this.#options;
    const refuse = (change: string) =>
      new FunctionError(
        `The MCP server "${name}" ${change}, so the call was not sent. Restart the service to accept or refuse the change.`,
      );
    if (this.#title !== this.#firstTitle) throw refuse("was replaced by another one");
    if (!isSameDefinition(definition, this.#tools.get(definition.name)))
      throw refuse(`changed its tool "${definition.name}"`);
  }

  /** A runtime may send a limited number of frames. Result frames must not wait behind a server's progress. */
  #forward(progress: Progress, context: CallContext): void {
    const now = performance.now();
    if (now - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = now;
    context.progress(progress);
  }

  async #read(connection: Connection): Promise<void> {
    const { client } = connection;
    const checkedAt = performance.now();
    const { tools } = await client.listTools(
      {},
      { cacheMode: "refresh", timeout: this.#options.startTimeoutMs ?? 30_000 },
    );
    connection.checkedAt = checkedAt;
    const [before, title] = [this.#tools, this.#title];
    this.#tools = new Map(tools.map((tool) => [tool.name, definitionOf(tool)]));
    this.#title = client.getServerVersion()?.name ?? "";
    this.#firstTitle ??= this.#title;
    const changed = [...before.values()].filter((one) => !isSameDefinition(one, this.#tools.get(one.name)));
    if (changed.length > 0)
      this.#log.warn("the MCP server changed tools, which are not called until the service restarts", {
        tools: changed.map(({ name }) => name),
      });
    if (this.#title !== title && this.#title !== this.#firstTitle)
      this.#log.warn("another MCP server answers, which is not called until the service restarts", {
        title: this.#title,
        before: this.#firstTitle,
      });
  }

  /** Warns once for each list: an HTTP server's tools are read again every few seconds. */
  #warnOfMalformed(tools: readonly string[]): void {
    const text = tools.join(", ");
    if (text === this.#malformed) return;
    this.#malformed = text;
    this.#log.warn("tools of the MCP server do not have the form of the protocol and are not offered", { tools });
  }

  async #readAgain(): Promise<void> {
    const connection = this.#current;
    if (connection === undefined) return;
    try {
      await this.#read(connection);
    } catch (error) {
      // The current tools may no longer be the accepted ones.
      this.#lose(connection, { error });
    }
  }

  /** Connects again later. Calls fail until then. */
  #lose(connection: Connection, reason: LogFields): void {
    if (this.#current !== connection) return;
    this.#current = undefined;
    this.#closeUnused(connection);
    if (this.#isClosed) return;
    this.#log.error("the connection to the MCP server ended", reason);
    this.#startLater();
  }

  #closeUnused({ client, calls }: Connection): void {
    if (calls === 0) void client.close();
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

import { basename, isAbsolute, parse } from "node:path";
import { DefinitionError, type JsonObject, type Log } from "@patchbay/functions";
import { checkForeignOptions, type ForeignOverride } from "@patchbay/functions/sources";
import { isJsonObject } from "@patchbay/kit";

/** A server in its own process, which speaks over its standard input and output. */
export interface StdioServer {
  /** The program to start, such as `npx`. */
  command: string;
  args?: readonly string[];
  /** Environment variables. From the runtime it inherits only what a login shell sets, such as `PATH`. */
  env?: Readonly<Record<string, string>>;
  /** Its working folder. Default: the folder of the service file. */
  cwd?: string;
}

/** A server with a Streamable HTTP address. */
export interface HttpServer {
  url: string | URL;
  /** Sent as `Authorization: Bearer`. */
  token?: string | undefined;
  /**
   * Further headers. A function receives each call's role and context, so that the server can distinguish users; for
   * requests outside a call, such as a tool list, it receives neither.
   */
  headers?: Readonly<Record<string, string>> | ((call: Caller) => Readonly<Record<string, string>>);
}

/** The tool's caller, as the query states it. */
export interface Caller {
  readonly role: string | undefined;
  readonly context: JsonObject;
}

/** An owner's decisions about one tool, in place of the server's statements. The members match `defineFunction`. */
export type ToolOverride = ForeignOverride;

/** Options for {@link mcpFunctions}. It refuses unknown options. */
export interface McpOptions {
  /** Prefix for function names (`fs` turns tool `read_file` into `fs_read_file`); names the server in lock file and logs. */
  name: string;
  server: StdioServer | HttpServer;
  /**
   * The roles that may call each tool, by tool name, as in `defineFunction`. A tool without an entry is not offered.
   * The entry `"*"` gives its roles to every tool without an entry of its own.
   */
  roles: Readonly<Record<string, "everyone" | readonly string[]>>;
  /**
   * By tool name. For data-flow rules, a tool is `foreign` and `returns` untrusted data, errors included; for a server of your
   * own, say `{ foreign: false, returns: "trusted" }`.
   */
  override?: Readonly<Record<string, ToolOverride>>;
  /**
   * The file with the definitions that the owner accepted, relative to the service file's folder. A tool that differs
   * from it is not offered. `patchbay pin` writes the file. Default: none, and every definition is accepted.
   */
  lock?: string | URL;
  /** `"annotations"`: a tool that the server marks as read-only has `effect: "read"`. Default: each tool is a write. */
  trust?: "annotations";
  /** Calls to the server at the same time: 1 to 1,000. Further ones wait in order. Default 8. */
  concurrency?: number;
  /** Milliseconds within which the server must start and list its tools. Default 30,000. */
  startTimeoutMs?: number;
  /** Default: the log of the command that loads the service; otherwise JSON lines on standard error. */
  log?: Log;
}

const OPTIONS = ["name", "server", "roles", "override", "lock", "trust", "concurrency", "startTimeoutMs", "log"];

/** Throws `DefinitionError` for options that would fail later, or grant more than they appear to. */
export function checkOptions(options: McpOptions): void {
  const { name, server, trust, concurrency = 1, startTimeoutMs = 1 } = options;
  const must = checkForeignOptions("MCP server", options, OPTIONS);
  must(isJsonObject(server) && "command" in server !== "url" in server, "server must have either a command or a url.");
  if ("url" in server)
    must(/^https?:/.test(urlOf(server, name).href), "server.url must begin with http:// or https://.");
  must(trust === undefined || trust === "annotations", 'trust must be "annotations", or absent.');
  must(
    Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= 1000,
    `concurrency must be an integer from 1 to 1,000, got ${String(concurrency)}.`,
  );
  must(
    Number.isFinite(startTimeoutMs) && startTimeoutMs > 0,
    `startTimeoutMs must be a positive number of milliseconds, got ${String(startTimeoutMs)}.`,
  );
}

/** Programs whose arguments name the program that they start. */
const LAUNCHERS = /^(?:npx|bunx|uvx|pipx|node|bun|deno|python3?)$/;

/** How the server is started, for the lock file: without arguments that may be secret, and folders that differ between machines. */
export function startOf({ name, server }: Pick<McpOptions, "name" | "server">): string {
  if ("url" in server) {
    const { origin, pathname } = urlOf(server, name);
    return origin + pathname;
  }
  const { command, args = [] } = server;
  const program = parse(command).name;
  const at = args.findIndex((arg) => !arg.startsWith("-"));
  const launched = LAUNCHERS.test(program) && at >= 0 ? [...args.slice(0, at), nameOf(args[at]!)] : [];
  return [program, ...launched].join(" ");
}

/** A package's name may have a slash, and a path has a folder. */
const nameOf = (launched: string): string => (isAbsolute(launched) ? basename(launched) : launched);

export function urlOf({ url }: HttpServer, name: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new DefinitionError(`MCP server "${name}": server.url is not a URL: ${String(url)}`);
  }
}

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type CallOutcome,
  defineService,
  type JsonObject,
  type JsonValue,
  type Log,
  type LogFields,
  type LogLevel,
} from "@patchbay/functions";
import { mcpFunctions, type McpFunctions, type McpOptions } from "../../src/index.ts";

export interface Line {
  level: LogLevel;
  message: string;
  fields: LogFields;
}

/** A log with a list of its lines. `until` resolves with the first line whose message contains a text. */
export function memoryLog(): Log & { lines: Line[]; until(text: string): Promise<Line> } {
  const lines: Line[] = [];
  const waiting: { text: string; resolve: (line: Line) => void }[] = [];
  const writer = (common: LogFields): Log => {
    const write = (level: LogLevel) => (message: string, fields?: LogFields) => {
      const line = { level, message, fields: { ...common, ...fields } };
      lines.push(line);
      for (const { text, resolve } of waiting) if (message.includes(text)) resolve(line);
    };
    return {
      debug: write("debug"),
      info: write("info"),
      warn: write("warn"),
      error: write("error"),
      child: (fields) => writer({ ...common, ...fields }),
    };
  };
  return {
    ...writer({}),
    lines,
    until(text) {
      const found = lines.find(({ message }) => message.includes(text));
      return found ? Promise.resolve(found) : new Promise((resolve) => waiting.push({ text, resolve }));
    },
  };
}

export const HOSTILE = fileURLToPath(new URL("hostile-server.ts", import.meta.url));
/** The address of the program of an installed package. */
export const programOf = (name: string): string => fileURLToPath(import.meta.resolve(name));

export type Call = (
  name: string,
  args: JsonObject,
  options?: { role?: string; signal?: AbortSignal; onProgress?: (data: JsonValue) => void; timeoutMs?: number },
) => Promise<CallOutcome>;

export interface Desk extends AsyncDisposable {
  files: McpFunctions;
  call: Call;
  log: ReturnType<typeof memoryLog>;
  /** The names of the functions. */
  names: string[];
}

/** A service with the tools of a server: by default those of the hostile one. */
export async function openDesk(options: Partial<McpOptions> & { env?: Record<string, string> } = {}): Promise<Desk> {
  const { env, ...rest } = options;
  const log = memoryLog();
  const files = await mcpFunctions({
    name: "h",
    server: { command: process.execPath, args: [HOSTILE], ...(env && { env }) },
    roles: { "*": "everyone" },
    log,
    ...rest,
  });
  const service = defineService({ name: "desk", functions: [...files.functions] });
  return {
    files,
    log,
    names: files.functions.map(({ manifest }) => manifest.name),
    call: (functionName, args, { role, signal, onProgress, timeoutMs = 60_000 } = {}) =>
      service.invoke(
        {
          functionName,
          arguments: args,
          context: {},
          threadId: "thr_1",
          runId: "run_1",
          callId: "call_1",
          attempt: 1,
          timeoutMs,
          ...(role !== undefined && { role }),
        },
        { signal: signal ?? new AbortController().signal, log, ...(onProgress && { onProgress }) },
      ),
    [Symbol.asyncDispose]: () => files.close(),
  };
}

/** A folder that exists during one test. */
export async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "patchbay-mcp-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

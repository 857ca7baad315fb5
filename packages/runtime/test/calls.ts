import { type CallOutcome } from "@patchbay/protocol";
import { type JsonObject, type JsonValue, logTo } from "@patchbay/kit";
import {
  defineService,
  type FunctionDefinition,
  type Invocation,
  type Log,
  type LogFields,
  type Service,
} from "../src/index.ts";

export interface Line {
  level: "debug" | "info" | "warn" | "error";
  message: string;
  fields: LogFields;
}

/** A log with a list of its lines. */
export function memoryLog(): Log & { lines: Line[] } {
  const lines: Line[] = [];
  return Object.assign(
    logTo((level, message, fields) => lines.push({ level, message, fields })),
    { lines },
  );
}

export interface CallOptions {
  role?: string;
  context?: JsonObject;
  timeoutMs?: number;
  signal?: AbortSignal;
  onProgress?: (data: JsonValue) => void;
  log?: Log;
}

export function invocationOf(functionName: string, args: JsonValue, options: CallOptions = {}): Invocation {
  return {
    functionName,
    arguments: args,
    context: options.context ?? {},
    threadId: "thr_1",
    sessionId: "ses_1",
    runId: "run_1",
    callId: "call_1",
    attempt: 1,
    timeoutMs: options.timeoutMs ?? 60_000,
    ...(options.role === undefined ? {} : { role: options.role }),
  };
}

/** One call of a service, as a runtime makes it. */
export function call(service: Service, name: string, args: JsonValue, options: CallOptions = {}): Promise<CallOutcome> {
  return service.invoke(invocationOf(name, args, options), {
    signal: options.signal ?? new AbortController().signal,
    log: options.log ?? memoryLog(),
    ...(options.onProgress === undefined ? {} : { onProgress: options.onProgress }),
  });
}

export function serviceOf(...functions: FunctionDefinition[]): Service {
  return defineService({ name: "desk", functions });
}

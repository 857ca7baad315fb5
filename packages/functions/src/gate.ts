import { LIMITS, type CallOutcome, type JsonValue } from "@patchbay/protocol";
import {
  admit,
  failed,
  findFunction,
  listFaults,
  type AccessRequest,
  type Admitted,
  type Refusal,
} from "./admission.ts";
import { createCallContext } from "./call-context.ts";
import { isTimeoutError, withDeadline } from "./deadline.ts";
import { FunctionError } from "./errors.ts";
import type { FunctionDefinition } from "./function.ts";
import type { Invocation, InvokeOptions } from "./invocation.ts";
import { toJson } from "./json.ts";
import type { Log } from "./log.ts";
import type { Parse } from "./schema/parser.ts";
import { argumentsReached } from "./schema/reached.ts";

export interface GateSetup {
  functions: ReadonlyMap<string, FunctionDefinition<never>>;
  parseContext: Parse | undefined;
}

export interface Gate {
  /** The one way to a handler. Never rejects. */
  invoke(invocation: Invocation, options: InvokeOptions): Promise<CallOutcome>;
  /** The same way up to the handler, which is not run. Never rejects. */
  check(request: AccessRequest, options: { log: Log }): Promise<{ ok: true } | Refusal>;
}

/** One call on its way through the gate. */
interface Passage {
  definition: FunctionDefinition<never>;
  invocation: Invocation;
  role: string | undefined;
  options: InvokeOptions;
  log: Log;
  /** Set once the handler has begun: from there on the call may have taken effect. */
  begun: boolean;
}

/**
 * Stands before the handlers, for every caller. In this order: the function exists, the role list, the context, the schema of the
 * arguments, `authorize`, the handler, the schema of the result, what of it the role may see, and that it can travel.
 */
export function createGate({ functions, parseContext }: GateSetup): Gate {
  return {
    async invoke(invocation, options) {
      const { functionName, role, runId, callId, timeoutMs } = invocation;
      const log = options.log.child({ function: functionName.slice(0, 64), runId, callId });
      const found = findFunction(functions, invocation, log);
      if (!found.ok) return found.outcome;

      const { definition } = found;
      const passage: Passage = { definition, invocation, role, options, log, begun: false };
      return withDeadline(
        {
          timeoutMs: Math.min(timeoutMs, definition.manifest.timeoutMs),
          signal: options.signal,
          onOverrun: options.onOverrun,
        },
        async (signal) => {
          const admitted = await admit(definition, invocation, { contextParser: parseContext, log });
          return admitted.ok ? runHandler(passage, admitted, signal) : admitted.outcome;
        },
        (reason) => endedEarly(passage, reason),
      );
    },

    async check(request, { log }) {
      const found = findFunction(functions, request, log);
      if (!found.ok) return found;
      const { definition } = found;
      return withDeadline<{ ok: true } | Refusal>(
        { timeoutMs: definition.manifest.timeoutMs, signal: NEVER },
        async () => {
          const admitted = await admit(definition, request, { contextParser: parseContext, log });
          return admitted.ok ? { ok: true } : admitted;
        },
        () => ({ ok: false, rule: "authorize", outcome: TOO_SLOW }),
      );
    },
  };
}

const NEVER = new AbortController().signal;
const TOO_SLOW = { ok: false, code: "timed_out", message: "The time was over before the function began." } as const;

async function runHandler(passage: Passage, { input, context }: Admitted, signal: AbortSignal): Promise<CallOutcome> {
  const { definition, invocation, role, options, log } = passage;
  if (signal.aborted) return endedEarly(passage, signal.reason);
  if (options.onReached) {
    const reached = argumentsReached(definition.manifest, invocation.arguments, input);
    if (reached !== undefined) options.onReached(reached);
  }
  passage.begun = true;
  const call = createCallContext({ invocation, role, context, signal, log, onProgress: options.onProgress });
  try {
    const result = await definition.handler(input, call.context);
    return await deliver(passage, result);
  } catch (error) {
    if (error instanceof FunctionError && error.message !== "")
      return { ok: false, code: "function_failed", message: error.message };
    return failed(log, signal.aborted ? "function failed after its call had ended" : "function failed", { error });
  } finally {
    call.close();
  }
}

/** Makes an outcome of what a handler returned: only what the output schema lists and the role may see, only what JSON carries, only what fits. */
async function deliver({ definition, role, log }: Passage, result: unknown): Promise<CallOutcome> {
  const { parseOutput, protection } = definition;
  const parsed = (await parseOutput?.(result)) ?? { ok: true, value: result };
  if (!parsed.ok) return failed(log, "result does not fit the output schema", { faults: listFaults(parsed.faults) });
  const whole: JsonValue = toJson(parsed.value);
  const { value, removed } = protection?.redact(whole, role) ?? { value: whole, removed: [] };
  const sizeBytes = Buffer.byteLength(JSON.stringify(value));
  if (sizeBytes <= LIMITS.resultBytes) return { ok: true, value, ...(removed.length > 0 && { redacted: removed }) };
  return {
    ok: false,
    code: "result_too_large",
    message: `The function ran, but its result has ${sizeBytes} bytes and at most ${LIMITS.resultBytes} are taken.`,
  };
}

function endedEarly({ begun, definition }: Passage, reason: unknown): CallOutcome {
  const late = isTimeoutError(reason);
  const doubt = begun && definition.manifest.effect !== "read" ? " It may have taken effect." : "";
  const what = begun ? "before the function had finished" : "before the function began";
  return late
    ? { ok: false, code: "timed_out", message: `The time was over ${what}.${doubt}` }
    : { ok: false, code: "cancelled", message: `The call was cancelled ${what}.${doubt}` };
}

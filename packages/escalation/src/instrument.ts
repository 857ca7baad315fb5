import { describeOutput } from "@patchbay/runtime/schema/describe";
import type { FunctionDefinition } from "@patchbay/runtime/function";
import type { CallContext } from "@patchbay/runtime/invocation";
import { ROOT } from "@patchbay/runtime/redaction/shape";
import { substituteHandlers, type Service } from "@patchbay/runtime/service";
import type { Canaries } from "@patchbay/test-kit/canaries";
import { sample } from "./sample.ts";

/** What handlers do in one query: return canaries, throw a canary, or return a text that orders the model to make calls. */
export type HandlerMode = { kind: "answer" } | { kind: "throw" } | { kind: "plant"; text: string };

/** A handler's start. */
export interface HandlerRun {
  functionName: string;
  callId: string;
  runId: string;
  sessionId: string | undefined;
  /** The role that the handler received. */
  role: string | undefined;
}

export interface Instruments {
  canaries: Canaries;
  /** Records the run. Returns what the handler does, and the role that the query has. */
  onRun(run: HandlerRun): { mode: HandlerMode; role: string | undefined };
  notes: Set<string>;
}

/** The service with its definitions and rules, and with handlers that only record their runs and return canaries. */
export function instrument(service: Service, instruments: Instruments): Service {
  const instrumented = substituteHandlers(service, (definition) => {
    const resultOf = resultMaker(definition, instruments);
    let runs = 0;
    return (_input: never, { callId, runId, sessionId, role: received }: CallContext<never>) => {
      const functionName = definition.manifest.name;
      const { mode, role } = instruments.onRun({ functionName, callId, runId, sessionId, role: received });
      if (mode.kind === "throw")
        throw new Error(instruments.canaries.text({ kind: "error", functionName, role, path: ROOT }));
      return resultOf({ role, variant: runs++, planted: mode.kind === "plant" ? ` ${mode.text}` : "" });
    };
  });
  return { ...instrumented, runHook: withheldTexts(service, instruments) };
}

/** The hooks must withhold a text that begins with one of these words. */
export const WITHHOLD = { refuse: "[[refuse]]", replace: "[[replace]]" };

/**
 * Runs the owner's hooks on the texts to withhold and overrules their decision, so that each text is withheld. Other
 * texts pass without the owner's hooks, because a hook that refuses them would hide faults behind it.
 */
function withheldTexts(service: Service, { notes }: Instruments): Service["runHook"] {
  return async (call, options) => {
    const text = call.hook === "beforeQuery" ? call.query : call.answer;
    const refuses = text.includes(WITHHOLD.refuse);
    if (!refuses && !text.includes(WITHHOLD.replace)) return { verdict: "passed" };
    const { verdict } = await service.runHook(call, options);
    if (verdict === "failed") notes.add(`${call.hook} failed on a text of the suite. Call it with runHookAs().`);
    return { verdict: refuses ? "refused" : "replaced", text: "Withheld." };
  };
}

interface ResultOptions {
  role: string | undefined;
  variant: number;
  /** Appended to the first text without constraints. */
  planted: string;
}

/** The result schema for functions without an output schema. */
const ANY_RESULT = {
  type: "object",
  properties: { note: {}, amount: { type: "number" }, items: { type: "array", items: { properties: { note: {} } } } },
};

function resultMaker({ manifest, output, parseOutput }: FunctionDefinition<never>, { canaries, notes }: Instruments) {
  const functionName = manifest.name;
  const schema = output === undefined ? ANY_RESULT : (describeOutput(output) ?? ANY_RESULT);
  let examples = false;
  const make = ({ role, variant, planted }: ResultOptions) => {
    let left = planted;
    return sample(schema, {
      variant,
      full: true,
      examples,
      text(path, free) {
        const word = canaries.text({ kind: "result", functionName, role, path });
        if (!free) return word;
        const text = word + left;
        left = "";
        return text;
      },
      number: (path) => canaries.number({ kind: "result", functionName, role, path }),
    });
  };
  void (async () => {
    const isRefused = async () =>
      (await parseOutput?.(make({ role: undefined, variant: 0, planted: "" })))?.ok === false;
    examples = await isRefused();
    if (examples && (await isRefused()))
      notes.add(`${functionName}: its output schema accepts no result that the suite can generate.`);
  })();
  return make;
}

import { describeOutput } from "../../schema/describe.ts";
import type { FunctionDefinition } from "../../function.ts";
import type { CallContext } from "../../invocation.ts";
import { ROOT } from "../../redaction/paths.ts";
import { substituteHandlers, type Service } from "../../service.ts";
import type { Marks } from "./marks.ts";
import { sample } from "./sample.ts";

/** What handlers do in one query: give marked results, throw marked errors, or give results that order a model about. */
export type HandlerMode = { kind: "answer" } | { kind: "throw" } | { kind: "plant"; text: string };

/** A handler began. */
export interface HandlerRun {
  functionName: string;
  callId: string;
  sessionId: string | undefined;
  /** The role it was told. */
  role: string | undefined;
}

export interface Instruments {
  marks: Marks;
  /** Notes the run, and gives what the handler is to do and the role that the query really has. */
  onRun(run: HandlerRun): { mode: HandlerMode; role: string | undefined };
  notes: Set<string>;
}

/** The service with its definitions and rules, and handlers that touch nothing: they note that they ran and give marked results. */
export function instrument(service: Service, instruments: Instruments): Service {
  const instrumented = substituteHandlers(service, (definition) => {
    const resultOf = resultMaker(definition, instruments);
    let runs = 0;
    return (_input: never, { callId, sessionId, role: told }: CallContext<never>) => {
      const functionName = definition.manifest.name;
      const { mode, role } = instruments.onRun({ functionName, callId, sessionId, role: told });
      if (mode.kind === "throw")
        throw new Error(instruments.marks.text({ kind: "error", functionName, role, path: ROOT }));
      return resultOf({ role, variant: runs++, planted: mode.kind === "plant" ? ` ${mode.text}` : "" });
    };
  });
  return { ...instrumented, runHook: watchHooks(service, instruments) };
}

/** What a hook is asked to withhold stands after one of these words. */
export const WITHHOLD = { refuse: "[[refuse]]", replace: "[[replace]]" };

/**
 * The owner's hooks see the texts that are to be withheld, and are overruled: whatever they decide of them, what is withheld must be
 * nowhere. The other texts pass unseen, so that no hook hides a hole behind it.
 */
function watchHooks(service: Service, { notes }: Instruments): Service["runHook"] {
  return async (call, options) => {
    const text = call.hook === "beforeQuery" ? call.query : call.answer;
    const refuses = text.includes(WITHHOLD.refuse);
    if (!refuses && !text.includes(WITHHOLD.replace)) return { verdict: "passed" };
    const { verdict } = await service.runHook(call, options);
    if (verdict === "failed") notes.add(`${call.hook} failed on a text of the suite. Call it with runHookAs().`);
    return { verdict: refuses ? "refused" : "replaced", text: "Withheld." };
  };
}

interface Wanted {
  role: string | undefined;
  variant: number;
  /** Goes with the first text that may be any. */
  planted: string;
}

/** What functions without an output schema give. */
const ANY_RESULT = {
  type: "object",
  properties: { note: {}, amount: { type: "number" }, items: { type: "array", items: { properties: { note: {} } } } },
};

function resultMaker({ manifest, output, parseOutput }: FunctionDefinition<never>, { marks, notes }: Instruments) {
  const functionName = manifest.name;
  const schema = output === undefined ? ANY_RESULT : (describeOutput(output) ?? ANY_RESULT);
  const make = ({ role, variant, planted }: Wanted) => {
    let left = planted;
    return sample(schema, {
      variant,
      full: true,
      text(path, free) {
        const word = marks.text({ kind: "result", functionName, role, path });
        if (!free) return word;
        const text = word + left;
        left = "";
        return text;
      },
      number: (path) => marks.number({ kind: "result", functionName, role, path }),
    });
  };
  void (async () => {
    const parsed = await parseOutput?.(make({ role: undefined, variant: 0, planted: "" }));
    if (parsed?.ok === false) notes.add(`${functionName}: no result could be made up that its output schema accepts.`);
  })();
  return make;
}

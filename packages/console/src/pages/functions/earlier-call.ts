import type { RunTrace } from "@patchbay/protocol/console";
import { type Arguments, type ArgumentsDraft, emptyArguments } from "../../parts/schema-form/arguments-form.tsx";
import { draftOf } from "../../parts/schema-form/draft.ts";
import type { FieldShape } from "../../parts/schema-form/field-shape.ts";
import { wholeInput } from "../../parts/run/run-facts.ts";

/** An earlier call's arguments and context, to call the function again. */
export interface EarlierCall {
  /** Undefined if the trace has only some. */
  arguments: Arguments | undefined;
  /** JSON; empty for none. */
  context: string;
}

/** A run's call `callId`, or its first call to the function. Undefined if the run has no such call. */
export function earlierCall(run: RunTrace, functionName: string, callId?: string): EarlierCall | undefined {
  const calls = run.spans.filter(({ kind, name }) => kind === "call" && name === functionName);
  const call = callId === undefined ? calls[0] : calls.find(({ id }) => id === callId);
  if (!call) return undefined;
  return {
    arguments: wholeInput(call),
    context: contextText(run.context),
  };
}

/** A context in the form; empty for none. */
export const contextText = (context: Record<string, unknown>): string =>
  Object.keys(context).length === 0 ? "" : JSON.stringify(context, null, 2);

/** The form with these arguments, as JSON if its fields cannot show them. */
export function argumentsDraft(shape: FieldShape, given: Arguments | undefined): ArgumentsDraft {
  if (given === undefined) return emptyArguments(shape);
  const { draft, unfit } = shape.kind === "json" ? { draft: undefined, unfit: "" } : draftOf(shape, given);
  return unfit === undefined ? { as: "form", draft } : { as: "json", text: JSON.stringify(given, null, 2) };
}

import type { RunTrace } from "@patchbay/protocol/console";
import { type Arguments, type ArgumentsDraft, emptyArguments } from "../../schema-form/arguments-form.tsx";
import { draftOf } from "../../schema-form/draft.ts";
import type { FieldShape } from "../../schema-form/field-shape.ts";

/** The arguments and the context of an earlier call, to call the function again. */
export interface EarlierCall {
  /** Undefined if the trace has only a part of them. */
  arguments: Arguments | undefined;
  /** JSON; empty for none. */
  context: string;
}

/** The call `callId` of a run, or its first call of the function. Undefined if the run has no such call. */
export function earlierCall(run: RunTrace, functionName: string, callId?: string): EarlierCall | undefined {
  const calls = run.spans.filter(({ kind, name }) => kind === "call" && name === functionName);
  const call = callId === undefined ? calls[0] : calls.find(({ id }) => id === callId);
  if (!call) return undefined;
  const { input } = call;
  const whole = call.attributes["truncated"] !== true && typeof input === "object" && input !== null;
  return {
    arguments: whole ? (input as Arguments) : undefined,
    context: Object.keys(run.context).length === 0 ? "" : JSON.stringify(run.context, null, 2),
  };
}

/** The form with these arguments, as JSON if its fields cannot show them. */
export function argumentsDraft(shape: FieldShape, given: Arguments | undefined): ArgumentsDraft {
  if (given === undefined) return emptyArguments(shape);
  const { draft, unfit } = shape.kind === "group" ? draftOf(shape, given) : { draft: undefined, unfit: "" };
  return unfit === undefined ? { as: "form", draft } : { as: "json", text: JSON.stringify(given, null, 2) };
}

import type { CallOutcome, JsonValue } from "@patchbay/protocol";
import type { RecordedResult } from "@patchbay/control-plane";
import type { Service } from "../service.ts";
import { loadControlPlane } from "./control-plane.ts";

/** The service with its own rules and, in place of its handlers, the results that stand in a recording. */
export async function withRecordedResults(service: Service, recording: string | undefined): Promise<Service> {
  if (recording === undefined) throw new TypeError('Recorded results need a recording: give its path as "replay".');
  const { recordedResults } = await loadControlPlane();
  const resultOf = recordedResults(recording);
  return {
    ...service,
    async invoke({ arguments: input, context, functionName, role }) {
      const decision = await service.check({ functionName, arguments: input, context, role });
      if (!decision.ok) return decision.outcome;
      const result = resultOf(functionName, input);
      return result === undefined ? notRecorded(functionName) : outcomeOf(result);
    },
  };
}

function notRecorded(functionName: string): CallOutcome {
  const message = `No result is recorded for this call of ${functionName}.`;
  return { ok: false, code: "function_failed", message };
}

function outcomeOf({ content, isError }: RecordedResult): CallOutcome {
  if (isError) return { ok: false, code: "function_failed", message: content };
  return { ok: true, value: valueOf(content) };
}

/** A model reads a text as it stands and everything else as JSON: what reads the same is the same to it. */
function valueOf(content: string): JsonValue {
  try {
    const value = JSON.parse(content) as JsonValue;
    return JSON.stringify(value) === content ? value : content;
  } catch {
    return content;
  }
}

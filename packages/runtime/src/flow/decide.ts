import { callersWords, contextForms, explainFlow, flowEnding, flowFault, withoutValues } from "@patchbay/access";
import type { CallFlow, FlowFault, FunctionManifest } from "@patchbay/protocol";
import type { JsonObject, JsonValue } from "@patchbay/kit";

/** Without a word about the run, nothing is trusted. */
const UNKNOWN: CallFlow = { words: [], results: [], tainted: true, secret: false, asks: false };

/** How the data-flow rules end a call. Undefined if they allow it. */
export function flowDecision(
  manifest: FunctionManifest,
  given: JsonValue,
  { context, flow = UNKNOWN }: { context: JsonObject; flow?: CallFlow | undefined },
): { fault?: FlowFault; asks: boolean; reason: string } | undefined {
  const ending = flowEnding(manifest, flow.asks ? "ask" : "report");
  if (ending === undefined || ending === "report") return undefined;
  const words = callersWords(flow.words, [...contextForms(context)]);
  const written = new Set(flow.written);
  const results = flow.results.map((one) => withoutValues(one, written));
  const fault = flowFault(manifest, given, { ...flow, results, words });
  const asks = ending === "ask";
  if (fault) return { fault, asks, reason: explainFlow(fault) };
  // The control plane has all calls of the thread, and this end only those with one of the call's values.
  return flow.asks ? { asks, reason: "The data-flow rules do not allow this call without a person." } : undefined;
}

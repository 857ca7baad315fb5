import { type Fault, type Manifest } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { hooksOf } from "../../ports/function-gateway.ts";
import type { Caller } from "../../ports/callers.ts";
import type { QuotedText } from "../../ports/records.ts";
import type { Segment } from "../../ports/tracing.ts";
import { checkQuery, undecided } from "../loop/hooks.ts";
import type { RunContext } from "../run-context.ts";
import type { Connected } from "./new-run.ts";
import { prepareServices } from "./prepare.ts";

interface Asking {
  gateway: RunContext["gateway"];
  signal: AbortSignal;
  segment?: Segment | undefined;
  /** The run's remaining time, including its wait for a runtime. */
  remainingMs(): number;
}

/**
 * A run's functions and what their services made from its context. `faults`: the context fits no service. Undefined
 * when no runtime is connected. `callerIn`: whom the run is for, once its functions are known.
 */
export async function connectServices(
  agentId: string,
  callerIn: (manifest: Manifest) => Caller,
  { gateway, signal, segment, remainingMs }: Asking,
): Promise<Connected | { caller: Caller; faults: Fault[] } | undefined> {
  const options = { signal, ...present({ trace: segment?.trace.segment }) };
  // Twice: a rollout may replace a function set's last runtime between the two requests.
  for (let attempt = 0; attempt < 2; attempt++) {
    const session = await gateway.session(agentId, { signal, withinMs: remainingMs() });
    if (!session) return undefined;
    const caller = callerIn(session.manifest);
    const prepared = await prepareServices(agentId, session, caller, gateway, options);
    if (prepared && "faults" in prepared) return { caller, faults: prepared.faults };
    if (prepared) return { session, prepared, caller };
  }
  return undefined;
}

/** A query's last check, so that the owner's code is asked only about one that could run. */
export async function askHooks(
  agentId: string,
  { query, quoted = [] }: { query: string; quoted?: readonly QuotedText[] | undefined },
  { prepared, caller }: Connected,
  { gateway, signal, segment }: Asking,
): Promise<void> {
  const [silent] = prepared.silentHooks;
  if (silent !== undefined) throw undecided({ service: silent }, "beforeQuery", "its runtime is not connected");
  const context = { gateway, signal, ...present({ segment }) };
  // A hook reads all client text that the model reads: what it refuses in a query must not pass as a quoted text.
  const texts = [...quoted.map(({ text }) => text), query].join("\n\n");
  await checkQuery(agentId, hooksOf(prepared.set), { query: texts, ...caller }, context);
}

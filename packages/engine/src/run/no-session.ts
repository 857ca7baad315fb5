import { isoTime } from "@patchbay/kit";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import type { RuntimeStore } from "../ports/store/stores.ts";
import { type RunFailure, sessionNotFound } from "./run-failure.ts";

interface Known {
  gateway: Pick<FunctionGateway, "serving">;
  runtimes: Pick<RuntimeStore, "lastSeen">;
}

/**
 * The failure for a run whose agent has no functions now, with warnings that say since when, or why connected ones do
 * not serve.
 */
export async function noSession(agentId: string, { gateway, runtimes }: Known): Promise<RunFailure> {
  try {
    const { services } = await gateway.serving(agentId);
    const withheld = services.flatMap((one) =>
      one.serves ? [] : [`The service ${one.service} is connected, but its functions are withheld: ${one.reason}`],
    );
    if (withheld.length > 0) return sessionNotFound(...withheld);
    const seen = await runtimes.lastSeen(agentId);
    if (!seen) return sessionNotFound();
    return sessionNotFound(`No runtime of this agent has been connected since ${isoTime(seen.at)}.`);
  } catch {
    // The store is unavailable: the failure says what is known.
    return sessionNotFound();
  }
}

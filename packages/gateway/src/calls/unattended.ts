import { sleep } from "@patchbay/kit/time";
import type { JsonValue } from "@patchbay/kit";
import { liveSubjectOf } from "@patchbay/engine/ports/bus";
import type { GatewayContext } from "../context.ts";
import type { RuntimeConnection } from "../local/runtime-connection.ts";

/** A call's progress is stored at most this often. */
const EVERY_MS = 1_000;

/**
 * Handles what runtimes report about calls that no run on any replica waits for, as detached ones: keeps and publishes their
 * progress, and stops handlers whose calls are over. Reports that cannot be stored are dropped.
 */
export function createUnattended({
  calls,
  within,
  bus,
  log,
}: Pick<GatewayContext, "calls" | "within" | "bus" | "log">) {
  /** Calls whose report was handled within the last second, with their newest progress since. */
  const recent = new Map<string, { next?: JsonValue }>();

  async function handle(connection: RuntimeConnection, callId: string, data?: JsonValue): Promise<void> {
    const { agentId, instanceId, orgId } = connection.identity;
    const runId = await within(orgId, () => calls.progressed({ agentId, callId, instanceId }, data));
    if (runId === undefined) return connection.stop(callId);
    const subject = liveSubjectOf(runId);
    if (data === undefined || !bus.reaches(subject)) return;
    bus.publish(subject, { live: JSON.stringify({ type: "toolProgress", toolCallId: callId, data }) });
  }

  /** `data`: the handler's progress. Without it, the runtime says that the handler runs. */
  return async (connection: RuntimeConnection, callId: string, data?: JsonValue): Promise<void> => {
    const key = `${connection.identity.connectionId} ${callId}`;
    const known = recent.get(key);
    if (known) return void (data !== undefined && (known.next = data));
    let next = data;
    do {
      const entry: { next?: JsonValue } = {};
      recent.set(key, entry);
      await handle(connection, callId, next).catch((error: unknown) =>
        log.debug("report not stored", { callId, error }),
      );
      await sleep(EVERY_MS, { ref: false });
      next = entry.next;
    } while (next !== undefined);
    recent.delete(key);
  };
}

import { type CallOutcome, type Manifest } from "@patchbay/protocol";
import { type JsonValue } from "@patchbay/kit";
import type { RunEffects } from "@patchbay/protocol/console";
import { refusalOf } from "@patchbay/engine/ports/refusal";
import { fromJson, inBatches } from "@patchbay/store/columns";
import type { Engine } from "@patchbay/store/engine";
import { payloadOf } from "./payload.ts";
import { failureOf } from "./spans.ts";

/** Calls per answer, and bytes per call's arguments. */
const SHOWN = 50;
const SHOWN_BYTES = 512;

export interface EffectsAsked {
  orgId: string;
  agentId: string;
  runIds: readonly string[];
  manifestOf: (manifestHash: string) => Promise<Manifest | undefined>;
}

/** Calls that wrote, destroyed, or may have, by run and in call order: running the run again may repeat them. */
export async function effectsOf(
  { db }: Engine,
  { orgId, agentId, runIds, manifestOf }: EffectsAsked,
): Promise<RunEffects> {
  const made = await db
    .selectFrom("calls")
    .innerJoin("runs", "runs.id", "calls.run_id")
    .select(["calls.id", "calls.run_id", "calls.function_name", "runs.manifest_hash"])
    .where("calls.run_id", "in", runIds)
    .where("runs.org_id", "=", orgId)
    .where("runs.agent_id", "=", agentId)
    .orderBy("calls.run_id")
    .orderBy("calls.step")
    .orderBy("calls.position")
    .execute();
  const hashes = [...new Set(made.map(({ manifest_hash }) => manifest_hash))];
  const manifests = new Map(
    await Promise.all(hashes.map(async (hash) => [hash, hash === null ? undefined : await manifestOf(hash)] as const)),
  );
  const changing = made.flatMap(({ id, run_id, function_name, manifest_hash }) => {
    const effect = effectIn(manifests.get(manifest_hash), function_name);
    return effect === "read" ? [] : [{ callId: id, runId: run_id, functionName: function_name, effect }];
  });
  const shown = changing.slice(0, SHOWN);
  const details = db.selectFrom("calls").select(["id", "arguments", "outcome", "state"]);
  const callIds = shown.map(({ callId }) => callId);
  const rows = await inBatches(callIds, (ids) => details.where("id", "in", ids).execute());
  const byId = new Map(rows.map((row) => [row.id, row]));
  const calls = shown.flatMap((call) => {
    const row = byId.get(call.callId);
    if (!row) return [];
    const outcome = row.outcome === null ? undefined : fromJson(row.outcome);
    const { value } = payloadOf(fromJson<JsonValue>(row.arguments), SHOWN_BYTES);
    return [{ ...call, arguments: value, state: outcome ? endOf(outcome) : openState(row.state) }];
  });
  return { calls, omitted: changing.length - shown.length };
}

/** Null if the function set was deleted. A name that the set lacks was refused, and changed nothing. */
function effectIn(
  manifest: Manifest | undefined,
  functionName: string,
): Manifest["functions"][number]["effect"] | null {
  if (!manifest) return null;
  return manifest.functions.find(({ name }) => name === functionName)?.effect ?? "read";
}

const openState = (state: string | null) => (state === "waiting" ? ("waiting" as const) : ("running" as const));

function endOf(outcome: CallOutcome): RunEffects["calls"][number]["state"] {
  if (outcome.ok) return "ok";
  return refusalOf(outcome) === undefined ? failureOf(outcome.code) : "denied";
}

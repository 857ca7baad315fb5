import type { CallOutcome } from "@patchbay/protocol";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import type { NewCredential } from "@patchbay/engine/ports/store/stores";
import { sampleCall, sampleRequest, sampleTurn, type World } from "./world.ts";

export const iso = (timeMs: number): string => new Date(timeMs).toISOString();

export function keyOf(agentId: string, change: Partial<NewCredential> = {}): NewCredential {
  return { credentialId: "key_1", kind: "api", agentId, hash: "h1", hint: "abcd…wxyz", ...change };
}

let calls = 0;

/** A run with one call that takes `ms`. */
export async function called(
  world: World,
  functionName: string,
  outcome: CallOutcome,
  ms: number,
  role?: string,
): Promise<void> {
  const who: Partial<NewRun> = role === undefined ? {} : { request: sampleRequest({ role }) };
  const run = await world.start(who);
  const call = sampleCall(`call_n${++calls}`, { functionName });
  await world.store.runs.commit(run, { turn: sampleTurn(0), calls: [call] });
  world.clock.advance(ms);
  await world.store.runs.commit(run, { calls: [{ ...call, outcome }] });
  await world.finish(run);
}

import { ending, sampleRequest, sampleRun, sampleTurn } from "../../../packages/store/test/contract/world.ts";
import type { DeskConsole } from "./desk-console.ts";

/** The texts of the queries in the list of runs. */
export const rowTexts =
  "[...document.querySelectorAll('[data-row-link] .font-medium:not([data-hint] *)')].map((one) => one.innerText)";

/** A run that has ended, with this cost and answer. */
export async function endedRun(
  { store, orgId, agentId }: DeskConsole,
  query: string,
  costMicros: number,
  answer = "Done.",
) {
  const request = sampleRequest({ query, model: costMicros > 0 ? "grand" : "offline" });
  const started = await store.runs.start(sampleRun({ orgId, agentId, keyId: "key_x", request }));
  if (started.kind !== "started") throw new Error(started.kind);
  await store.runs.commit(started.run, { turn: sampleTurn(0, { costMicros }) });
  await store.runs.commit(started.run, ending(started.run, answer));
  return started.run.runId;
}

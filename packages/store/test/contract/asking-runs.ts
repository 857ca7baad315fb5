import type { NewApproval } from "@patchbay/engine/ports/store/approvals";
import type { RunRecord } from "@patchbay/engine/ports/records";
import { event, sampleCall, sampleTurn, type World } from "./world.ts";

const HOUR_MS = 3_600_000;
export const yes = { approved: true, by: "key_2", as: "manager" };
export const no = { approved: false, by: "key_3", as: "manager", reason: "Too much." };

export const requestOf = (
  world: { clock: Pick<World["clock"], "now"> },
  name: string,
  expiresInMs = HOUR_MS,
): NewApproval => ({
  approvalId: `apr_${name}`,
  callId: `call_${name}`,
  functionName: "refund",
  arguments: { amount: 200 },
  argumentsHash: `hash_${name}`,
  reason: "Over 100.",
  by: ["manager"],
  edit: ["amount"],
  fourEyes: true,
  expiresAt: world.clock.now() + expiresInMs,
});

/** A run with a call and a request for its approval by name. */
export async function asking(
  world: World,
  names: string[],
  expiresInMs: Record<string, number> = {},
  keyId = "key_1",
  more: Parameters<World["start"]>[0] = {},
): Promise<RunRecord> {
  const { request } = world.newRun();
  const run = await world.start({ ...more, keyId, request: { ...request, role: "clerk" } });
  const requested = names.map((name) => requestOf(world, name, expiresInMs[name]));
  await world.store.runs.commit(run, {
    turn: sampleTurn(0),
    events: [event(1)],
    calls: names.map((name, position) => ({
      ...sampleCall(`call_${name}`, { position }),
      approval: { approvalId: "" } as never,
    })),
    approvals: { requested },
  });
  return { ...run, lastSeq: 1 };
}

/** The same, waiting with 100 s left. */
export async function waiting(
  world: World,
  ...of: Parameters<typeof asking> extends [World, ...infer Rest] ? Rest : never
) {
  const run = await asking(world, ...of);
  await world.store.runs.commit(run, { wait: { remainingMs: 100_000 } });
  return run;
}

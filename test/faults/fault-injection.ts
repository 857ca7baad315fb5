import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../../examples/retail-desk/data/dice.ts";
import type { Lab } from "./lab.ts";

/** Causes one fault and repairs it. */
export type FaultAction = (lab: Lab, dice: Dice) => Promise<void>;

export const killReplica: FaultAction = async (lab, dice) => {
  const replica = dice.pick(lab.replicas);
  await replica.kill();
  await sleep(dice.between(0, 3_000));
  await replica.start();
};

export const terminateReplica: FaultAction = async (lab, dice) => {
  const replica = dice.pick(lab.replicas);
  await replica.terminate();
  await replica.start();
};

/** Pauses for longer than a lease, so that other replicas have its runs when it resumes. */
export const pauseReplica: FaultAction = async (lab, dice) => {
  const replica = dice.pick(lab.replicas);
  replica.pause();
  await sleep(dice.between(16_000, 31_000));
  replica.resume();
};

export const killRuntime: FaultAction = async (lab, dice) => {
  const runtime = dice.pick(dice.pick(lab.tenants).runtimes);
  await runtime.kill();
  await sleep(dice.between(0, 2_000));
  await runtime.start();
};

export const terminateRuntime: FaultAction = async (lab, dice) => {
  const runtime = dice.pick(dice.pick(lab.tenants).runtimes);
  await runtime.terminate();
  await runtime.start();
};

export const restartPostgres: FaultAction = async ({ postgres }, dice) => {
  await postgres?.stop("immediate");
  await sleep(dice.between(0, 2_000));
  await postgres?.start();
};

export const killBus: FaultAction = async ({ nats }, dice) => {
  await nats?.kill9();
  await sleep(dice.between(0, 5_000));
  await nats?.start();
};

/** Causes one fault after another until the time is up, with random pauses between them. Resolves with their number. */
export async function injectFaults(
  lab: Lab,
  nemeses: readonly FaultAction[],
  { seconds, dice, pauseMs }: { seconds: number; dice: Dice; pauseMs: readonly [number, number] },
): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000;
  for (let count = 0; ; count++) {
    const waitMs = dice.between(...pauseMs);
    if (performance.now() + waitMs > endsAt) {
      await sleep(Math.max(0, endsAt - performance.now()));
      return count;
    }
    await sleep(waitMs);
    await dice.pick(nemeses)(lab, dice);
  }
}

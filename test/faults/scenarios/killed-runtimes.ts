import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { holdCalls, until } from "./held-calls.ts";
import { type Scenario, together } from "./scenario.ts";

export const killedRuntimes: Scenario = {
  name: "killed-runtimes",
  promise: "A call whose runtime is killed in the middle ends as unknown in time, and is not made again.",
  lab: { replicas: 2 },
  async run(lab, { rate, patience }) {
    const groups = lab.tenants.map((tenant) => holdCalls(lab, tenant, { queries: Math.round(rate), calls: 1 }));
    await Promise.all(groups.map((group) => group.running()));
    const killed = lab.tenants.flatMap(({ runtimes }) => runtimes);
    await Promise.all(killed.map((runtime) => runtime.kill()));
    const killedAt = performance.now();
    const restarted = Promise.all(killed.map((runtime) => runtime.start()));
    const endings = (await Promise.all(groups.map((group) => group.endings))).flat();
    const toldMs = performance.now() - killedAt;
    await restarted;
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 1 });
    return together(
      found,
      { kills: killed.length, toldMs: largest([toldMs]) },
      {
        "each lost call was told as unknown": found.figures["unknown"] === endings.length,
        "told within 12 s": toldMs <= 12_000 * patience,
      },
    );
  },
};

export const redeliveredCalls: Scenario = {
  name: "redelivered-calls",
  promise: "A call that may be repeated goes to another runtime under its id when its runtime is killed.",
  lab: { replicas: 2 },
  async run(lab, { rate }) {
    const name = "fetch_record";
    const groups = lab.tenants.map((tenant) => holdCalls(lab, tenant, { queries: Math.round(rate), calls: 1, name }));
    await Promise.all(groups.map((group) => group.running()));
    const victims = lab.tenants.map(({ runtimes }) => runtimes[0]!);
    const lost = groups.flatMap((group) => group.begun()).filter(({ pid }) => victims.some((one) => one.pid === pid));
    await Promise.all(victims.map((runtime) => runtime.kill()));
    const again = (): number =>
      attempts(
        lab,
        lost.map(({ callId }) => callId),
      ).filter((count) => count > 1).length;
    await until(() => again() === lost.length, "each lost call runs again", 30_000);
    await Promise.all(groups.map((group) => group.release()));
    const endings = (await Promise.all(groups.map((group) => group.endings))).flat();
    await Promise.all(victims.map((runtime) => runtime.start()));
    const found = await check(lab, { endings, succeeded: endings.length });
    const most = largest(
      attempts(
        lab,
        lost.map(({ callId }) => callId),
      ),
    );
    return together(
      found,
      { redelivered: lost.length, mostAttempts: most },
      {
        "calls were lost": lost.length > 0,
        "three attempts at most": most <= 3,
      },
    );
  },
};

function attempts(lab: Lab, callIds: readonly string[]): number[] {
  const begun = lab.functionNotes().filter(({ phase }) => phase === "begin");
  const byCall = Map.groupBy(begun, ({ callId }) => callId);
  return callIds.map((callId) => byCall.get(callId)?.length ?? 0);
}

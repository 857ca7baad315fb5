import { silentLog } from "@patchbay/kit";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import type { RunRecord } from "../../src/ports/records.ts";
import type { RunContext } from "../../src/run/run-context.ts";
import { createQuarantine } from "../../src/run/worker/quarantine.ts";

/** When groups of suspects are claimed whose first has crashed this often, and which do not end, in milliseconds from the first. */
async function claimsOf(crashes: number): Promise<number[]> {
  return await inVirtualTime(async (time) => {
    const claims: number[] = [];
    const runs = {
      async claimSuspects() {
        claims.push(time.now);
        return {
          runs: claims.length < 3 ? [{ runId: "run_1", orgId: "org_1", crashes } as RunRecord] : [],
          waiting: 1,
        };
      },
      clearSuspects: async () => {},
    } as unknown as RunContext["runs"];
    const work = (): Promise<void> => new Promise(() => {});
    const host = { owner: "replica-1", accepting: () => true, force() {}, work, stopped: new AbortController().signal };
    await createQuarantine(host, { runs, clock: systemClock, log: silentLog } as RunContext).claim();
    return claims;
  });
}

test.each([
  { crashes: 2, surviveMs: 3_000 },
  { crashes: 3, surviveMs: 6_000 },
  { crashes: 4, surviveMs: 12_000 },
  { crashes: 9, surviveMs: 384_000 },
  { crashes: 10, surviveMs: 600_000 },
  { crashes: 40, surviveMs: 600_000 },
])(
  "a group that crashed $crashes times is followed by the next after $surviveMs ms",
  async ({ crashes, surviveMs }) => {
    expect(await claimsOf(crashes)).toEqual([0, surviveMs, 2 * surviveMs]);
  },
);

test("suspects wait 3 s after a run that crashed once is resumed, also if the clock is set back", async () => {
  const claims = await inVirtualTime(async (time) => {
    const { machine } = time.world;
    const found: number[] = [];
    const runs = {
      async claimSuspects() {
        found.push(time.now);
        return { runs: [], waiting: 0 };
      },
    } as unknown as RunContext["runs"];
    const stopped = new AbortController().signal;
    const host = { owner: "replica-1", accepting: () => true, force() {}, work: async () => {}, stopped };
    const quarantine = createQuarantine(host, { runs, clock: systemClock, log: silentLog } as RunContext);
    quarantine.delay();
    machine.clock.offsetMs -= 300_000;
    await quarantine.claim();
    return found;
  });

  expect(claims).toEqual([3_000]);
});

import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import type { Lab } from "../lab.ts";
import { startLoad } from "../load.ts";
import { type Scenario, together } from "./scenario.ts";

export const fullDisk: Scenario = {
  name: "full-disk",
  promise: "A full disk refuses queries with 503 and loses nothing; once there is room all goes on.",
  lab: { embedded: true, diskMb: 64 },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    const ballast = join(lab.disk, "ballast");
    await sleep(3_000);
    fill(ballast);
    await sleep(seconds * 1_000);
    const readyWhileFull = await readiness(lab);
    rmSync(ballast);
    await sleep(5_000);
    const readyAfter = await readiness(lab);
    const endings = await load.stop();
    const found = await check(lab, { endings, succeeded: 0.95 * endings.length });
    const { exits } = lab.replicas[0]!;
    return together(
      found,
      { fullSeconds: seconds, exits },
      {
        "the replica was not ready while the disk was full": readyWhileFull === 503,
        "it was ready again afterwards": readyAfter === 200,
        "queries were refused while it was full": Number(found.figures["refused503"]) > 0,
        "the process goes on": exits === 0,
      },
    );
  },
};

const readiness = async ({ urls }: Lab): Promise<number> => (await fetch(`${urls[0]}/readyz`)).status;

/** Until nothing fits: the replica writes as well meanwhile. */
function fill(file: string): void {
  const piece = Buffer.alloc(65_536);
  const ballast = openSync(file, "w");
  try {
    for (;;) writeSync(ballast, piece);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ENOSPC") throw error;
  } finally {
    closeSync(ballast);
  }
}

const EVERY = 40;
const FAILING = `inject=fsync,fdatasync:error=EIO:when=400+${EVERY}`;

export const failingDisk: Scenario = {
  name: "failing-disk",
  promise: "Writes that the disk refuses are not acknowledged, and the process goes on.",
  lab: {
    embedded: true,
    under: () => ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", FAILING],
  },
  async run(lab, { seconds, rate, dice }) {
    const load = startLoad(lab, { rate, dice });
    await sleep(seconds * 1_000);
    const endings = await load.stop();
    const mayFail = ["http 500", "internal"];
    const found = await check(lab, { endings, succeeded: 0.5 * endings.length, mayFail });
    const { exits } = lab.replicas[0]!;
    const waits = lab.replicas[0]!.log().match(/store unavailable|store out of reach/g)?.length ?? 0;
    return together(
      found,
      { failedSync: `1 of ${EVERY}`, waits, exits },
      {
        "the disk failed": waits + Number(found.figures["refused503"]) > 0,
        "the process goes on": exits === 0,
      },
    );
  },
};

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { largest } from "../figures.ts";
import { labProcess } from "../process.ts";
import { rightsOf } from "./fair-share.ts";
import type { Scenario } from "./scenario.ts";

const program = fileURLToPath(new URL("../attacker-process.ts", import.meta.url));

const BETWEEN_MS = 10;

export const hostileSchemas: Scenario = {
  name: "hostile-schemas",
  promise:
    "Function sets and locks whose schemas are expensive to compare do not stop the process for its other clients.",
  lab: { embedded: true, tenants: 0 },
  async run(lab, { seconds }) {
    const worst = await lab.addTenant({ tier: "sandbox", runtimes: 0 });
    const rights = await rightsOf(lab, worst);
    const url = `${lab.urls[0]!}/healthz`;
    // The first requests run before code is compiled.
    await healthOf(url, 2);
    const figures = { failed: 0, longestStallMs: 0 };
    const broken: string[] = [];
    for (const attack of ["schemas-in-hellos", "schemas-in-locks"]) {
      const env = { ATTACK: attack, BASE: lab.urls[0]!, SECONDS: String(seconds), ...rights };
      const logFile = join(lab.folder, "logs", `attacker-${attack}`);
      await using attacker = labProcess(`attacker-${attack}`, [program], { env, logFile });
      await attacker.start();
      const { times, failed } = await healthOf(url, seconds);
      figures.failed += failed;
      figures.longestStallMs = largest([figures.longestStallMs, ...times]);
      if (failed > 0) broken.push(`${attack}: ${failed} health checks failed`);
      process.stderr.write(attacker.log());
      await attacker.kill();
    }
    if (lab.replicas[0]!.exits > 0) broken.push("the process ended");
    return { figures, violations: broken };
  },
};

/** Asks for the health of the process, one request after the other. */
async function healthOf(url: string, seconds: number): Promise<{ times: number[]; failed: number }> {
  const endsAt = performance.now() + seconds * 1_000;
  const times: number[] = [];
  let failed = 0;
  while (performance.now() < endsAt) {
    const askedAt = performance.now();
    const status = await fetch(url).then(
      async (answer) => (await answer.arrayBuffer()) && answer.status,
      () => 0,
    );
    if (status !== 200) failed++;
    times.push(performance.now() - askedAt);
    await sleep(BETWEEN_MS);
  }
  return { times, failed };
}

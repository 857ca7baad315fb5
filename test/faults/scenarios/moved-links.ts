import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { startLoad } from "../load.ts";
import { until } from "./held-calls.ts";
import { type Scenario, together } from "./scenario.ts";

export const movedLinks: Scenario = {
  name: "moved-links",
  promise: "Runtimes whose replica is killed are linked to another within 5 s.",
  lab: {},
  async run(lab, { rate, dice, patience }) {
    const load = startLoad(lab, { rate, dice });
    const held = await linksOf(lab);
    const victim = held.indexOf(largest(held));
    const all = held.reduce((sum, links) => sum + links, 0);
    await lab.replicas[victim]!.kill();
    const killedAt = performance.now();
    const linked = async () => (await linksOf(lab)).reduce((sum, links) => sum + links, 0) === all;
    await until(linked, "each runtime is linked to a living replica", 60_000);
    const gapMs = performance.now() - killedAt;
    const endings = await load.stop();
    await lab.replicas[victim]!.start();
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 0.01 });
    return together(
      found,
      { links: held[victim] ?? 0, gapMs: largest([gapMs]) },
      {
        "the killed replica held a link": held[victim]! > 0,
        "linked within 5 s": gapMs <= 5_000 * patience,
      },
    );
  },
};

/** Links to runtimes at each replica, by its metrics; none at a dead one. */
export function linksOf(lab: Lab): Promise<number[]> {
  return Promise.all(
    lab.urls.map(async (url) => {
      const text = await fetch(`${url}/metrics`).then(
        (response) => response.text(),
        () => "",
      );
      return Number(/^patchbay_runtimes_connected (\d+)$/m.exec(text)?.[1] ?? 0);
    }),
  );
}

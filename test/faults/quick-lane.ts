import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hasNatsServer } from "@patchbay/test-support/nats";
import { type Lab, startLab } from "./lab.ts";
import { chooseSeed, runOn, type SeededTerms, SHARED_PATIENCE } from "./run-scenario.ts";
import type { Scenario } from "./scenarios/scenario.ts";

/** Runs short forms of scenarios one after the other on one lab, each as a test named after its guarantee. */
export function quickLane(scenarios: readonly (readonly [Scenario, Pick<SeededTerms, "seconds" | "rate">])[]): void {
  const lacksNats = scenarios[0]?.[0].lab?.embedded !== true && !hasNatsServer();
  if (lacksNats) console.warn("!!! FAULT TESTS OF REPLICAS ARE SKIPPED: install nats-server !!!");
  describe.skipIf(lacksNats)("the service", () => {
    let lab: Lab;
    beforeAll(async () => {
      lab = await startLab(scenarios[0]?.[0].lab, SHARED_PATIENCE);
    });
    afterAll(() => lab[Symbol.asyncDispose]());

    for (const [scenario, terms] of scenarios)
      test(scenario.promise, async () => {
        const { violations } = await runOn(lab, scenario, { ...terms, seed: chooseSeed() });
        expect(violations).toEqual([]);
      });
  });
}

import { expect, test } from "vitest";
import { chooseSeed, runScenario, SHARED_PATIENCE } from "./run-scenario.ts";
import { embeddedUpgrade, rollingUpgrade } from "./scenarios/upgrades.ts";
import { hasNatsServer } from "@patchbay/test-support/nats";
import { hasCommit, OLD_COMMIT } from "./versions.ts";

const found = hasCommit(OLD_COMMIT);
if (!found)
  console.warn(`!!! UPGRADE TESTS ARE SKIPPED: this clone lacks the commit ${OLD_COMMIT}; fetch the whole history !!!`);

const hasNats = hasNatsServer();
if (!hasNats) console.warn("!!! THE ROLLING UPGRADE TEST IS SKIPPED: install nats-server !!!");

for (const scenario of [rollingUpgrade, embeddedUpgrade])
  test.skipIf(!found || (scenario === rollingUpgrade && !hasNats))(scenario.promise, async () => {
    const { violations } = await runScenario(scenario, { seconds: 0, rate: 4, seed: chooseSeed() }, SHARED_PATIENCE);
    expect(violations).toEqual([]);
  });

import { expect, test } from "vitest";
import type { Clock } from "../../src/ports/clock.ts";
import { ModelError } from "../../src/ports/model-provider.ts";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { consoleOf } from "../../../store/test/contract/world.ts";
import { startCore } from "./core.ts";
import { fakeGateway, manifestOf, ok } from "./fake-gateway.ts";
import { type ScriptedTurn, scriptedModel } from "./scripted-model.ts";

test("the time to the first token begins with the first request for the turn, and ends with the attempt that gave it", async () => {
  const script: (ScriptedTurn & { afterMs: number })[] = [
    { afterMs: 100, text: "Let me", fail: new ModelError("network", "reset") },
    { afterMs: 200, text: "Let me look.", calls: [["open", {}]] },
    { afterMs: 50, calls: [["open", {}]] },
    { afterMs: 30, text: "Done." },
  ];
  let now = Date.now();
  const clock: Clock = { now: () => now, sleep: (_, options) => systemClock.sleep(0, options) };
  const { catalog } = scriptedModel((_, index) => {
    const { afterMs, ...turn } = script[index]!;
    now += afterMs;
    return turn;
  });
  const { gateway } = fakeGateway(manifestOf({ open: "everyone" }), () => ok(1));
  await using core = await startCore({ models: catalog, gateway, clock });

  const { runId } = await core.query("Hi");

  const parts = await consoleOf(core.store).runs.parts({ orgId: "org_1", agentId: "agt_1" }, runId);
  expect(parts?.turns.map(({ timing }) => timing?.firstTokenMs)).toEqual([300, undefined, 30]);
});

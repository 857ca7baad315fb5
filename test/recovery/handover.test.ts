import { join } from "node:path";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { openStore } from "@patchbay/store/open";
import { startCore } from "../../packages/engine/test/run/core.ts";
import { fakeGateway, manifestOf } from "../../packages/engine/test/run/fake-gateway.ts";
import { scriptedModel } from "../../packages/engine/test/run/scripted-model.ts";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { expectSoundRuns } from "../support/invariants.ts";
import { WAIT_MS } from "@patchbay/test-support/patience";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

/** A function that waits for `release`, unless it is aborted. */
function heldFunction() {
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const ran: string[] = [];
  const held = defineFunction({
    name: "charge",
    description: "Charges.",
    input: { type: "object" },
    roles: everyone,
    async handler(_input, { signal }) {
      started.resolve();
      const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      await Promise.race([gate.promise, stopped]);
      ran.push(signal.aborted ? "stopped" : "done");
      return "charged";
    },
  });
  return {
    service: defineService({ name: "held", functions: [held] }),
    started: started.promise,
    open: gate.resolve,
    ran,
  };
}

test("a call that runs during the handover of its run continues, and the next replica stores its result", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  await using standIn = await startStandIn("anthropic", callThenAnswer([{ name: "charge" }]));
  const { service, started, open, ran } = heldFunction();
  await using first = await startSystem({
    database: `sqlite:${file}`,
    port: await freePort(),
    providers: standIn.config,
  });
  await first.connect(service);
  const key = { "idempotency-key": "k" };
  const asked = first.post(`/agents/${first.agentId}/query`, { query: "hi" }, key);
  await started;
  await first.plane.close({ graceMs: 50 });
  expect((await asked).status).toBe(503);

  await using second = await startSystem({
    database: `sqlite:${file}`,
    port: first.plane.port,
    providers: standIn.config,
  });
  const again = first.query("hi", {}, key);
  open();

  expect(await again).toMatchObject({ success: true, toolInteractions: [{ success: true, result: "charged" }] });
  expect(ran).toEqual(["done"]);
  expect(await expectSoundRuns(file)).toEqual({ runs: 1, succeeded: 1 });
  expect(second.plane.port).toBe(first.plane.port);
});

test("a run accepted during the handover is resumed immediately by the next replica", async () => {
  await using store = await openStore("sqlite::memory:").then((opened) => ({
    ...opened,
    [Symbol.asyncDispose]: () => opened.close(),
  }));
  const stored = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const slow = {
    ...store,
    runs: {
      ...store.runs,
      async start(run: NewRun) {
        const started = await store.runs.start(run);
        stored.resolve();
        await gate.promise;
        return started;
      },
    },
  };
  const { gateway } = fakeGateway(manifestOf({}), () => ({ kind: "undelivered" }));
  const models = { first: scriptedModel([]), second: scriptedModel([{ text: "Done." }]) };
  await using first = await startCore({ models: models.first.catalog, gateway, store: slow, owner: "first" });
  const asked = first.runs.start(first.caller, { query: "hi", analysisMode: false, maxTokens: 100 });
  await stored.promise;
  await first.runs.drain(0);
  gate.resolve();
  const run = await asked;

  await using second = await startCore({ models: models.second.catalog, gateway, store, owner: "second" });

  expect(await second.runs.result(run, { signal: AbortSignal.timeout(WAIT_MS) })).toMatchObject({ response: "Done." });
  expect(models.first.requests).toEqual([]);
});

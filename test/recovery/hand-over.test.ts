import { join } from "node:path";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { expectSoundRuns } from "../support/invariants.ts";
import { callThenAnswer, startStandIn } from "../support/providers/index.ts";
import { startSystem } from "../support/system.ts";

/** A function that waits to be let go, unless it is told to stop. */
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

test("a call that runs while its run is handed over is left alone, and the next owner takes its result", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "data.db");
  await using standIn = await startStandIn("anthropic", callThenAnswer([{ name: "charge" }]));
  const { service, started, open, ran } = heldFunction();
  await using first = await startSystem({ database: `sqlite:${file}`, providers: standIn.config });
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
  expect(expectSoundRuns(file)).toEqual({ runs: 1, succeeded: 1 });
  expect(second.plane.port).toBe(first.plane.port);
});

import { execFile } from "node:child_process";
import { mkdtempDisposableSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { exportRun, testOf } from "@patchbay/control-plane/admin";
import type { Service } from "@patchbay/functions";
import { scriptedModel } from "@patchbay/functions/testing";
import { expect, test, vi } from "vitest";
import { startSystem } from "@patchbay/test-support/system";

const SERVICE = `import { defineFunction, defineService } from "@patchbay/functions";
import { z } from "zod";

export default defineService({
  name: "orders",
  roles: ["boss"],
  instructions: "Be kind.",
  context: z.object({ customerId: z.string().optional() }),
  modelContext: (context) => context,
  functions: [
    defineFunction({
      name: "get_order",
      description: "Gets an order.",
      input: z.object({ order: z.string() }),
      roles: "everyone",
      handler: ({ order }) => ({ order, total: 12 }),
    }),
    defineFunction({
      name: "pay",
      description: "Pays.",
      input: z.object({}),
      roles: "everyone",
      approval: { by: ["boss"] },
      handler: () => "paid",
    }),
  ],
});
`;

const repository = join(import.meta.dirname, "../..");

interface Report {
  testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[];
}

/** Runs the test files of a folder as its owner does. Returns the states of their tests by title. */
async function runTests(folder: string): Promise<Record<string, string>> {
  const vitest = join(repository, "node_modules/vitest/vitest.mjs");
  const args = [
    vitest,
    "run",
    "--root",
    folder,
    "--test-timeout",
    "60000",
    "--reporter",
    "json",
    "--outputFile",
    "report.json",
  ];
  await promisify(execFile)(process.execPath, args, { cwd: folder }).catch(() => undefined);
  const { testResults } = JSON.parse(readFileSync(join(folder, "report.json"), "utf8")) as Report;
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  return Object.fromEntries(
    all.map(({ title, status, failureMessages }) => [title, [status, ...failureMessages].join()]),
  );
}

test("an exported test passes as it is, or is skipped until its owner fills in what it lacks", async () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "patchbay-tests-"));
  symlinkSync(join(repository, "node_modules"), join(folder.path, "node_modules"));
  writeFileSync(join(folder.path, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder.path, "service.ts"), SERVICE);
  const { default: service } = (await import(join(folder.path, "service.ts"))) as { default: Service };
  const model = scriptedModel([
    { calls: [["get_order", { order: "1" }]] },
    "It costs 12.",
    "Still 12.",
    { calls: [["get_order", { order: "2" }]] },
    "Yours costs 12.",
    "This costs 12.",
    { calls: [["pay"]] },
  ]);
  const texts: Record<string, string> = {};
  {
    await using system = await startSystem({ service, model, instructions: "Be brief." });
    const write = async (name: string, runId: string) => {
      const run = await exportRun(system.plane.store, runId);
      writeFileSync(join(folder.path, `${name}.json`), JSON.stringify(run));
      writeFileSync(join(folder.path, `${name}.test.ts`), (texts[name] = testOf(`${name}.json`, run)));
    };
    const { threadId } = await system.query("What is order 1?");
    const last = await system.query("Are you sure?", { threadId });
    const own = await system.query("What is my order?", { contextJson: '{"customerId":"ann"}' });
    const odd = await system.query("What is this order?", {
      contextJson: '{"a\\nthrow 1;//":1,"b\\u2028throw 2;//":2}',
    });
    const waiting = await system.query("Pay!");
    await system.post(`/agents/${system.agentId}/runs/${waiting.runId}/cancel`, {});
    await vi.waitFor(() => expect(exportRun(system.plane.store, waiting.runId)).resolves.toBeDefined());
    // The run keeps the instructions that it had.
    await system.plane.admin.updateAgent(system.agentId, { instructions: "Be long." });
    await write("plain", last.runId);
    await write("own", own.runId);
    await write("odd", odd.runId);
    await write("waiting", waiting.runId);
  }

  expect(await runTests(folder.path)).toEqual({
    "Are you sure?": "passed",
    "What is my order?": "skipped",
    "What is this order?": "skipped",
    "Pay!": "skipped",
  });
  expect(texts["own"]).toContain(
    '// - Fill in the values of the context, which are not exported: "customerId".\ntest.skip(',
  );
  expect(texts["waiting"]).toMatch(/approver: a person decided on calls of pay\.\n.*ended with cancelled/);

  const filled = texts["own"]!.replace('"customerId": ""', '"customerId": "ann"').replace("test.skip(", "test(");
  writeFileSync(join(folder.path, "own.test.ts"), filled);
  expect(await runTests(folder.path)).toMatchObject({ "What is my order?": "passed" });
});

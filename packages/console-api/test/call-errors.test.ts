import { defineFunction, defineService, everyone, FunctionError } from "@patchbay/functions";
import type { RunTrace, TestCallResult } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { z } from "zod";
import { exportRun } from "@patchbay/server/recording/run-export";
import { openDesk } from "./support/console-desk.ts";

const SECRET = "postgres://shop:hunter2@db";

const failing = (name: string, fail: () => never, more = {}) =>
  defineFunction({
    name,
    description: `Runs ${name}.`,
    input: z.object({}),
    output: z.object({ sum: z.number() }),
    roles: everyone,
    handler: fail,
    ...more,
  });

const SHOP = defineService({
  name: "shop",
  functions: [
    failing("load_order", () => {
      throw new RangeError(`cannot reach ${SECRET}`, { cause: new Error("socket closed") });
    }),
    failing("refund_order", () => {
      throw new FunctionError("The order is too old.");
    }),
    failing("sum_up", () => ({ sum: "much" }) as never),
    failing("close_shop", () => ({ sum: 1 }) as never, {
      authorize: () => {
        throw new TypeError("no rights table");
      },
    }),
  ],
});

async function openShop(reportErrors: boolean) {
  const desk = await openDesk({ service: SHOP, reportErrors });
  const [viewer, developer] = [await desk.member("viewer"), await desk.member("developer")];
  return {
    ...desk,
    viewer,
    developer,
    errors: async (runId: string, member = developer) =>
      (await member.json<RunTrace>("GET", `${desk.agent}/runs/${runId}`)).spans.flatMap(({ error }) => error ?? []),
    tryOut: (name: string) =>
      developer.json<TestCallResult>("POST", `${desk.agent}/functions/${name}/test-calls`, { body: { arguments: {} } }),
  };
}

test("developers see what the owner's code threw, and neither viewers, the model, the caller, the log nor an export has it", async () => {
  await using desk = await openShop(true);
  const { runId, threadId, ...answer } = await desk.query("Run load_order");
  const { events } = await desk.stream("Run load_order");

  const [error, ...more] = await desk.errors(runId);
  const owner = await desk.member("owner");

  expect(more).toEqual([]);
  expect(await desk.errors(runId, owner)).toEqual([error]);
  expect(error).toMatchObject({ name: "RangeError", message: `cannot reach ${SECRET}` });
  expect(error!.stack).toContain("call-errors.test.ts");
  expect(error!.stack).toContain("Caused by: Error: socket closed");
  expect(answer.toolInteractions[0]).toMatchObject({ success: false });
  const seenElsewhere = await Promise.all([
    desk.get(`/agents/${desk.agentId}/runs/${runId}`).then((one) => one.text()),
    desk.viewer.ask("GET", `${desk.agent}/runs/${runId}`).then((one) => one.text()),
    desk.viewer.ask("GET", `${desk.agent}/runs?q=load_order`).then((one) => one.text()),
    desk.viewer.ask("GET", `${desk.agent}/run-export?format=json`).then((one) => one.text()),
    desk.viewer.ask("GET", `${desk.agent}/runs/${runId}/log`).then((one) => one.text()),
    desk.viewer.ask("GET", `${desk.agent}/runs/${runId}/turns/1/request`).then((one) => one.text()),
    desk.viewer.ask("GET", `/audit?runId=${runId}`).then((one) => one.text()),
    desk.viewer.ask("GET", `${desk.agent}/threads/${threadId}`).then((one) => one.text()),
    exportRun(desk.store, runId).then((one) => JSON.stringify(one)),
  ]);
  const all = [JSON.stringify(answer), JSON.stringify(events), ...seenElsewhere];
  for (const text of all) {
    expect(text).toMatch(/load_order/);
    expect(text).not.toMatch(/hunter2|RangeError|socket closed/);
  }
});

test("a test call shows what the handler, authorize and a wrong result threw", async () => {
  await using desk = await openShop(true);

  const [thrown, expected, wrong, denied] = [
    await desk.tryOut("load_order"),
    await desk.tryOut("refund_order"),
    await desk.tryOut("sum_up"),
    await desk.tryOut("close_shop"),
  ];

  expect(thrown).toMatchObject({ code: "function_failed", error: { name: "RangeError" } });
  expect(thrown.runtime).toEqual(expect.any(String));
  expect(expected).toMatchObject({ errorMessage: "The order is too old.", error: { name: "FunctionError" } });
  expect(wrong.error).toMatchObject({
    name: "TypeError",
    message: expect.stringMatching(/^The result does not match/),
  });
  expect(denied).toMatchObject({ rule: "authorize", error: { name: "TypeError", message: "no rights table" } });
});

test("without the owner's opt-in, a failure has a reference and its runtime, and no error is sent", async () => {
  await using desk = await openShop(false);

  const result = await desk.tryOut("load_order");

  expect(result.errorMessage).toMatch(/^The function failed\. Reference: [0-9a-f]{12}$/);
  expect(result).not.toHaveProperty("error");
  expect(result.callId).toEqual(expect.any(String));
  expect(await desk.errors(result.runId)).toEqual([]);
});

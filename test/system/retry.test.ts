import { join } from "node:path";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import type { RetryResponse, RunDetail } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { runCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

test("the command retries a run on the database, the server continues it, and its write is not repeated", async () => {
  await using folder = await temporaryFolder();
  let down = true;
  await using standIn = await startStandIn("anthropic", ({ step }) => {
    if (step > 0) return down ? { error: { status: 401 } } : { text: "Refunded." };
    return { calls: [{ name: "refund", arguments: { order: "7" } }] };
  });
  const refunds: string[] = [];
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ order: z.string() }),
    roles: everyone,
    handler({ order }) {
      refunds.push(order);
      return { refunded: order };
    },
  });
  const database = `sqlite:${join(folder.path, "patchbay.db")}`;
  const service = defineService({ name: "desk", functions: [refund] });
  await using system = await startSystem({ database, providers: standIn.config, service });
  const failed = await system.query("Refund order 7.");
  expect(failed).toMatchObject({ code: "provider_error", toolInteractions: [{ success: true }] });
  const retry = (runId: string) => runCommand(["runs", "retry", runId, "--data-dir", folder.path, "--json"]);
  down = false;

  const { code, stdout } = await retry(failed.runId);

  expect(code).toBe(0);
  const retried = JSON.parse(stdout) as RetryResponse;
  expect(retried).toMatchObject({ success: true, threadId: failed.threadId, retryOf: failed.runId });
  const read = async () =>
    (await (await system.get(`/agents/${system.agentId}/runs/${retried.runId}`)).json()) as RunDetail;
  await expect.poll(async () => (await read()).status).toBe("succeeded");
  expect((await read()).result).toMatchObject({ response: "Refunded.", toolInteractions: [{ toolName: "refund" }] });
  expect(refunds).toEqual(["7"]);
  expect((await system.plane.admin.verifyAudit(system.orgId, { runs: true })).faults).toEqual([]);

  const again = await retry(failed.runId);
  expect(again.code).toBe(1);
  expect(again.stderr).toContain(`Run ${failed.runId} cannot be retried: its retry ${retried.runId} succeeded.`);
  expect((await retry("run_none")).stderr).toContain("Run run_none was not found.");
});

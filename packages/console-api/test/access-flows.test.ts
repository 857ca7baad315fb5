import type { CallOutcome, FunctionManifest } from "@patchbay/protocol";
import type { AccessMatrix } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { sampleCall, sampleRun } from "../../store/test/contract/world.ts";
import { openConsole } from "./support/open-console.ts";

const DAY_MS = 86_400_000;
const named = (name: string, flow: FunctionManifest["flow"]): FunctionManifest => ({
  name,
  description: "x",
  inputSchema: { type: "object" },
  roles: "everyone",
  conditional: false,
  effect: "destructive",
  idempotent: false,
  timeoutMs: 60_000,
  ...(flow && { flow }),
});

test("the matrix counts the calls that data-flow rules did not allow, by function and rule", async () => {
  await using console = await openConsole();
  const { store, admin, orgId, clock } = console;
  const { agentId } = await admin.createAgent("Desk", { orgId });
  const functions = [
    named("pay_bill", { mode: "report", targets: { account: "caller" } }),
    named("send_mail", { mode: "report", sends: ["body"] }),
    named("log", { mode: "report" }),
  ];
  await store.runtimes.saveManifest(agentId, "h1", { name: "bank", preparesContext: false, functions });
  const end = async (functionName: string, rule?: "target" | "link", value: unknown = null) => {
    const run = sampleRun({ orgId, agentId });
    await store.runs.start(run);
    const fault = rule && { flowFault: { rule, member: "account" } };
    const outcome = { ok: true, value, ...fault } as CallOutcome;
    const call = sampleCall(`call_${run.runId}`, { functionName, outcome });
    await store.runs.commit({ runId: run.runId, fence: 1 }, { calls: [call] });
    clock.advance(1);
    return run.runId;
  };
  await end("pay_bill", "target");
  clock.advance(31 * DAY_MS);
  await end("send_mail", "link");
  await end("pay_bill", "target");
  await end("pay_bill", undefined, { flowFault: { rule: "target", member: "x" } });
  await end("log", "target");
  const newest = await end("pay_bill", "target");
  const { browser } = await console.member("viewer");

  const answer = await browser.ask("GET", `/api/agents/${agentId}/access`);

  const { flowFaults } = (await answer.json()) as AccessMatrix;
  expect(flowFaults).toEqual([
    { functionName: "pay_bill", rule: "target", calls: 2, runId: newest },
    { functionName: "send_mail", rule: "link", calls: 1, runId: expect.any(String) },
  ]);
});

import { expect, test } from "vitest";
import { startCommand } from "../../packages/cli/test/support/command.ts";
import { until } from "@patchbay/test-support/inbox";
import { expectSoundRuns } from "../support/invariants.ts";
import { type Deployment, startDeployment } from "../support/processes.ts";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";

async function startDesk() {
  await using opening = new AsyncDisposableStack();
  const standIn = opening.adopt(
    await startStandIn("anthropic", callThenAnswer([{ name: "approved_charge", arguments: { id: "1" } }])),
    (one) => one.close(),
  );
  const deployment = opening.use(await startDeployment({ env: standIn.env }));
  await deployment.connect();
  const opened = opening.move();
  return { ...deployment, deployment, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const pending = async ({ admin, agentId }: Pick<Deployment, "admin" | "agentId">) =>
  (await admin<{ items: { approvalId: string; status: string }[] }>("approvals", "list", "--agent", agentId)).items;

test("a run whose control plane was killed continues with a decision that a command made meanwhile, and charges once", async () => {
  await using desk = await startDesk();
  const key = { "idempotency-key": "k" };
  const waits = await desk.query("Charge 1", {}, key);
  expect(waits).toMatchObject({ code: "approval_required", approvals: [{ toolName: "approved_charge" }] });
  expect(desk.functionRuns()).toEqual([]);

  await desk.kill(desk.deployment.serve);
  const [asked] = await pending(desk);
  expect(asked).toMatchObject({ status: "pending" });
  const decided = await desk.admin(
    "approvals",
    "approve",
    asked!.approvalId,
    "--as",
    "manager",
    "--arguments",
    '{"id":"2"}',
  );
  expect(decided).toMatchObject({ status: "approved", decidedBy: "command" });
  await desk.deployment.restart();
  const answer = await desk.query("Charge 1", {}, { ...key, prefer: "wait=60" });

  expect(answer).toMatchObject({
    success: true,
    toolInteractions: [{ toolName: "approved_charge", parameters: { id: "2" }, success: true }],
  });
  expect(desk.functionRuns()).toMatchObject([{ name: "approved_charge", id: "2" }]);
  await expectSoundRuns(desk.databaseFile);
});

test("a control plane that is killed while an approved call runs does not charge again", async () => {
  await using desk = await startDesk();
  const key = { "idempotency-key": "k" };
  await desk.query("Charge 1", {}, key);
  const [asked] = await pending(desk);
  await desk.admin("approvals", "approve", asked!.approvalId, "--as", "manager", "--arguments", '{"id":"held-1"}');
  await until(() => desk.functionRuns().length === 1, "the handler");

  await desk.kill(desk.deployment.serve);
  await desk.deployment.restart();
  await desk.open("held-1");
  const answer = await desk.query("Charge 1", {}, { ...key, prefer: "wait=60" });

  expect(answer).toMatchObject({ success: true, toolInteractions: [{ success: true, parameters: { id: "held-1" } }] });
  expect(desk.functionRuns()).toHaveLength(1);
  await expectSoundRuns(desk.databaseFile);
});

test("the command shows an approval, and refuses a role that may not decide and a second decision", async () => {
  await using desk = await startDesk();
  await desk.query("Charge 1");
  const [asked] = await pending(desk);
  const id = asked!.approvalId;

  expect(await desk.admin("approvals", "show", id)).toMatchObject({ approvalId: id, parameters: { id: "1" } });
  await expect(desk.admin("approvals", "approve", id, "--as", "guest")).rejects.toThrow("may not decide");
  await expect(
    desk.admin("approvals", "approve", id, "--as", "manager", "--arguments", '{"id":"1","to":"me"}'),
  ).rejects.toThrow("arguments.to");
  await desk.admin("approvals", "reject", id, "--as", "manager", "--reason", "Not now.");
  await expect(desk.admin("approvals", "approve", id, "--as", "manager")).rejects.toThrow("is rejected");
  await expect(desk.admin("approvals", "show", "apr_none")).rejects.toThrow("Approval apr_none was not found");
});

test("a query in a terminal asks for the confirmation of its own role, edits the arguments and shows the answer", async () => {
  await using standIn = await startStandIn(
    "anthropic",
    callThenAnswer([{ name: "confirmed_charge", arguments: { id: "1" } }]),
  );
  await using deployment = await startDeployment({ env: standIn.env });
  await deployment.connect();
  const { agentId, url } = deployment;
  const { apiKey = "" } = await deployment.admin("keys", "create", "--agent", agentId, "--can", "approve");
  const target = ["--url", url, "--agent", agentId, "--key", apiKey];

  for (const more of [[], ["--stream"]]) {
    await using query = startCommand(["query", "Charge 1", "--role", "clerk", ...more, ...target], { terminal: true });
    await query.seen("Run it as clerk?");
    query.type("e\r");
    await query.seen('id ("1"; empty keeps it): ');
    query.type("2\r");
    expect((await query.finished).code).toBe(0);
  }

  expect(deployment.functionRuns()).toMatchObject([{ id: "2" }, { id: "2" }]);
});

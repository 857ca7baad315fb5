import { verifyWebhook } from "@patchbay/client";
import { expect, test } from "vitest";
import { startReceiver } from "../../packages/server/test/webhooks/receiver.ts";
import { startDeployment } from "../support/processes.ts";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";

test("what a killed control plane was sending is sent again with the same id, and what follows is not lost", async () => {
  await using standIn = await startStandIn(
    "anthropic",
    callThenAnswer([{ name: "approved_charge", arguments: { id: "1" } }]),
  );
  // The first attempt gets no response before the kill.
  await using receiver = await startReceiver((response) => {
    if (receiver.got.length > 1) response.writeHead(204).end();
  });
  await using desk = await startDeployment({ env: standIn.env, serveArgs: ["--webhook-networks", "127.0.0.1"] });
  await desk.connect();
  const { agentId } = desk;
  const { secret = "" } = await desk.admin("agents", "webhook", "set", agentId, "--url", receiver.url);
  const asked = await desk.post(`/agents/${agentId}/query`, { query: "Charge 1" }, { prefer: "respond-async" });
  const { runId } = (await asked.json()) as { runId: string };
  const [first] = await receiver.received(1);

  await desk.kill(desk.serve);
  const { data } = JSON.parse(first!.body) as { data: { approvalId: string } };
  await desk.admin("approvals", "approve", data.approvalId, "--as", "manager");
  await desk.restart();

  await receiver.received(4);
  const events = await Promise.all(
    receiver.got.map(({ body, headers }) =>
      verifyWebhook({ body, secret, signature: headers["x-patchbay-signature"] }),
    ),
  );
  const again = events.filter(({ type }) => type === "approval.requested");
  expect(again).toHaveLength(2);
  expect(again[1]).toEqual(again[0]);
  expect(receiver.got.map(({ headers }) => headers["x-patchbay-delivery"])).toEqual(events.map(({ id }) => id));
  const others = events.filter(({ type }) => type !== "approval.requested");
  expect(others.map(({ type }) => type).toSorted()).toEqual(["approval.decided", "run.ended"]);
  expect(others.map((event) => event.data)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ runId, approvalId: data.approvalId, decision: "approved" }),
      expect.objectContaining({ runId, status: "succeeded" }),
    ]),
  );
  // The receiver answers nothing that shows in a delivery, and no delivery has arguments.
  expect(receiver.got.map(({ body }) => body).join()).not.toMatch(/"parameters"|"arguments"|"reason"|"response"/);
});

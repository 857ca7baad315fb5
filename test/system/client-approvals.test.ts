import { createClient } from "@patchbay/client";
import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { callsOnce } from "../support/call-models.ts";
import { startSystem } from "@patchbay/test-support/system";

/** A desk whose refunds need a manager, who may change the amount. */
async function startDesk() {
  const ran: unknown[] = [];
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ orderId: z.string(), amount: z.number() }),
    roles: ["clerk"],
    approval: { by: ["manager"], when: () => "Refunds need a manager.", edit: ["amount"] },
    handler: (input) => void ran.push(input),
  });
  const service = defineService({ name: "desk", roles: ["clerk", "manager"], functions: [refund] });
  const system = await startSystem({ service, model: callsOnce("refund", { orderId: "o1", amount: 200 }) });
  const { agentId, url } = system;
  const { apiKey } = await system.plane.admin.createKey({ agentId, can: ["approve"] });
  return {
    ran,
    clerk: createClient({ baseUrl: url, agentId, apiKey: system.apiKey }),
    manager: createClient({ baseUrl: url, agentId, apiKey }),
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  };
}

test("a client lists, reads and approves what another client's run waits for", async () => {
  await using desk = await startDesk();
  const waiting = await desk.clerk.query({ query: "Refund o1", role: "clerk" });

  const { items } = await desk.manager.listApprovals({ status: "pending", runId: waiting.runId });
  const approvalId = items[0]?.approvalId ?? "";
  const read = await desk.manager.getApproval(approvalId);
  const decided = await desk.manager.decideApproval(approvalId, {
    approved: true,
    as: "manager",
    arguments: { orderId: "o1", amount: 150 },
  });

  expect(waiting).toMatchObject({ success: false, code: "approval_required" });
  expect(items).toEqual([read]);
  expect(read).toMatchObject({ toolName: "refund", reason: "Refunds need a manager.", status: "pending" });
  expect(decided).toMatchObject({ approvalId, status: "approved" });
  const events = [];
  for await (const { event } of desk.clerk.followRun(waiting.runId)) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: "finalResponse", response: "Done." });
  expect(desk.ran).toEqual([{ orderId: "o1", amount: 150 }]);
});

test("a second decision is a conflict, and a key without the right reads no approvals", async () => {
  await using desk = await startDesk();
  const { runId } = await desk.clerk.query({ query: "Refund o1", role: "clerk" });
  const { items } = await desk.manager.listApprovals({ runId, limit: 1 });
  const approvalId = items[0]?.approvalId ?? "";
  await desk.manager.decideApproval(approvalId, { approved: false, reason: "Not this month.", as: "manager" });

  const again = desk.manager.decideApproval(approvalId, { approved: true, as: "manager" });

  await expect(again).rejects.toMatchObject({ code: "conflict", status: 409, body: { status: "rejected" } });
  await expect(desk.clerk.listApprovals()).rejects.toMatchObject({ code: "role_not_allowed", status: 403 });
  expect(desk.ran).toEqual([]);
});

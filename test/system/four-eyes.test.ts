import { createAdmin, createApprovals } from "@patchbay/control-plane/admin";
import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

test("what one member made is one person: keys, service tokens and the member", async () => {
  const ran: unknown[] = [];
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ id: z.string() }),
    roles: ["clerk"],
    approval: { by: ["manager"] },
    handler: (given) => void ran.push(given),
  });
  const service = defineService({ name: "desk", roles: ["clerk", "manager"], functions: [refund] });
  await using standIn = await startStandIn("anthropic", callThenAnswer([{ name: "refund", arguments: { id: "o1" } }]));
  await using desk = await startSystem({ service, providers: standIn.config });
  const { agentId, orgId, plane } = desk;
  const keyBy = async (by: string) => {
    const { apiKey } = await createAdmin({ store: plane.store, by }).createKey({ agentId, can: ["approve"] });
    return { "x-api-key": apiKey };
  };
  const { token } = await createAdmin({ store: plane.store, by: "mem_ada" }).serviceTokens.create({
    orgId,
    scopes: ["keys:write", "approvals:write"],
  });
  const own = await keyBy("mem_ada");
  const { approvals: [asked] = [] } = await desk.query("Refund", { role: "clerk" }, own);
  const { approvalId } = asked!;
  const yes = { approved: true, as: "manager" };
  const decide = (key: Record<string, string>) =>
    desk.post(`/agents/${agentId}/approvals/${approvalId}/decision`, yes, key);
  const approvals = createApprovals({ ...plane.store, bus: { publish() {} } });
  const decideAs = (keyId: string) =>
    approvals.decide({ keyId, orgId, agentId, tier: "", can: ["approve"] }, approvalId, yes);

  for (const key of [own, await keyBy("mem_ada"), await keyBy(token.tokenId)]) {
    const refused = await decide(key);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      code: "role_not_allowed",
      errorMessage: expect.stringContaining("by a key with the same maker, and it needs another person"),
    });
  }
  for (const keyId of ["mem_ada", token.tokenId])
    await expect(decideAs(keyId)).rejects.toMatchObject({ code: "role_not_allowed" });
  expect(ran).toEqual([]);

  expect((await decide(await keyBy("mem_eve"))).status).toBe(200);
  await expect.poll(() => ran).toEqual([{ id: "o1" }]);
});

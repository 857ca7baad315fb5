import { expect, test } from "vitest";
import { DAY_MS, HASH, log, loggedDays, verify } from "./audit-deletions.ts";
import type { MakePlace } from "./world.ts";

/** Heads of the audit log that are noted each day. */
export function auditHeadContract(place: MakePlace): void {
  test("the head of a day is noted once by all replicas, and again the next day", async () => {
    await using world = await loggedDays(place, 2);
    const other = await world.another();
    await world.store.accounts.createOrg({ orgId: "org_2", name: "Idle", tier: "starter" });
    const noted = async () =>
      (await Promise.all([world.store, other, world.store].map((store) => store.audit.noteHeads()))).flat();
    const { head, sealedTo } = await verify(world);

    expect(await noted()).toEqual([{ orgId: world.orgId, head, entries: 2, sealedTo }]);
    await log(world);
    expect(await (await world.another()).audit.noteHeads()).toEqual([]);
    world.clock.advance(DAY_MS);
    expect(await noted()).toMatchObject([{ head: expect.stringMatching(/^3:/), entries: 3 }]);
    world.clock.advance(DAY_MS);
    expect(await noted()).toMatchObject([{ head: expect.stringMatching(/^3:/) }]);
  });

  test("each webhook of the organisation gets the head, and nothing else", async () => {
    await using world = await loggedDays(place, 2);
    const { accounts, audit, webhooks } = world.store;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await accounts.createAgent({ agentId: "agt_2", orgId: "org_2", name: "Other", instructions: "" });
    await accounts.createAgent({ agentId: "agt_3", orgId: world.orgId, name: "Silent", instructions: "" });
    for (const [agentId, orgId] of [
      [world.agentId, world.orgId],
      ["agt_2", "org_2"],
    ] as const)
      await webhooks.set({ agentId, orgId, url: "https://hooks.example", secret: "s" });

    const [noted] = await audit.noteHeads();
    await audit.noteHeads();

    const { orgId: _org, ...data } = noted!;
    const of = async (agentId: string) => (await webhooks.deliveries({ agentId, limit: 9 })).items;
    expect(await of(world.agentId)).toMatchObject([{ type: "audit.head", data, status: "pending" }]);
    expect([await of("agt_2"), await of("agt_3")]).toEqual([[], []]);
  });

  test.each([
    ["an end that was cut off", "delete from audit_seals where seq > 2", true],
    ["a removed log", "delete from audit_seals", false],
  ])("%s is found by the head of the day, which stays", async (_what, statement, hasChain) => {
    await using world = await loggedDays(place, 4);
    await world.store.audit.noteHeads();
    const [seal] = (await world.place.rows("select * from audit_seals where seq = 2")) as [Record<string, string>];
    const { head, to_at, to_id } = seal;

    await world.place.execute(statement);
    await world.place.execute(`delete from audit where created_at > ${hasChain ? to_at : 0}`);
    await world.place.execute(
      hasChain
        ? `update audit_chains set seq = 2, entries = 2, head = '${head}', to_at = ${to_at}, to_id = '${to_id}'`
        : "delete from audit_chains",
    );
    world.clock.advance(DAY_MS);

    expect(await world.store.audit.noteHeads()).toEqual([]);
    expect((await verify(world)).faults).toEqual([expect.stringMatching(/^The chain had seal 4 on 2030-01-0\d/)]);
  });

  test("a chain that was written again is found by the head of the day", async () => {
    await using world = await loggedDays(place, 3);
    await world.store.audit.noteHeads();

    await world.place.execute(`update audit_heads set head = '${HASH}'`);

    expect((await verify(world)).faults).toEqual([
      expect.stringMatching(/^Seal 3 has another head than on 2030-01-0\d/),
    ]);
  });
}

import { expect, test } from "vitest";
import { createAdmin } from "@patchbay/server/accounts/admin";
import { consoleOf, openWorld, type MakePlace, type World } from "./world.ts";

export function consoleAuditContract(place: MakePlace): void {
  test("all entries of an organisation come together, newest first, page by page, and none of another one", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId, store } = world;
    await store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await world.start({ audit: [{ action: "run.started" }] });
    await store.audit.record([
      { orgId, agentId, action: "query.refused", rule: "role_not_allowed" },
      { orgId, action: "credits.granted" },
      { orgId: "org_2", action: "credits.granted" },
      { orgId, agentId, action: "key.created" },
    ]);

    expect(await actions(world)).toEqual(["key.created", "credits.granted", "query.refused", "run.started"]);
    await expect(consoleOf(store).audit.list(orgId, { limit: 2, cursor: "nonsense" })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("entries are found by agent, role, function, time and action, whether many or few have it", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId, store } = world;
    const about = { orgId, agentId };
    await store.audit.record([
      { ...about, action: "run.started", role: "clerk" },
      { ...about, action: "call.succeeded", role: "clerk", functionName: "refund" },
      { ...about, action: "call.denied", role: "clerk", functionName: "close" },
      { orgId, action: "member.joined" },
    ]);
    world.clock.advance(1);
    await store.audit.record([{ ...about, action: "run.succeeded", role: "clerk" }]);

    expect(await actions(world, { action: "run" })).toEqual(["run.succeeded", "run.started"]);
    expect(await actions(world, { action: "run.started" })).toEqual(["run.started"]);
    expect(await actions(world, { action: "call" })).toEqual(["call.denied", "call.succeeded"]);
    expect(await actions(world, { action: "call.denied" })).toEqual(["call.denied"]);
    expect(await actions(world, { action: "member" })).toEqual(["member.joined"]);
    expect(await actions(world, { functionName: "refund" })).toEqual(["call.succeeded"]);
    expect(await actions(world, { agentId, role: "clerk", since: world.clock.now() })).toEqual(["run.succeeded"]);
    expect(await actions(world, { agentId: "agt_9" })).toEqual([]);
  });

  test("a search reads a limited number of entries per page and continues until it has found all", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId, store } = world;
    const about = { orgId, agentId, action: "run.started" };
    await store.audit.record([{ ...about, role: "clerk" }]);
    world.clock.advance(1);
    for (let i = 0; i < 11; i++) {
      await store.audit.record(Array.from({ length: 1_000 }, () => ({ ...about, role: "guest" })));
      world.clock.advance(1);
    }

    const first = await consoleOf(store).audit.list(orgId, { limit: 5, role: "clerk" });
    const next = await consoleOf(store).audit.list(orgId, { limit: 5, role: "clerk", cursor: first.nextCursor ?? "" });
    const ofCommands = await store.audit.list({ agentId, limit: 5, role: "clerk" });

    expect(first).toEqual({ items: [], nextCursor: expect.any(String) });
    expect(next).toMatchObject({ items: [{ role: "clerk" }], nextCursor: null });
    expect(ofCommands).toEqual({ items: [], nextCursor: expect.any(String) });
    const found = await createAdmin({ store }).listAudit(agentId, { role: "clerk", limit: 5 });
    expect(found).toMatchObject({ items: [{ role: "clerk" }], nextCursor: null });
  });

  test("an entry names its member, also a removed one, and never a member of another organisation", async () => {
    await using world = await openWorld(place);
    const { orgId, store } = world;
    await store.accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    const member = { role: "owner", passwordHash: null } as const;
    const { members } = store;
    await members.create({ ...member, orgId, memberId: "mem_1", name: "Ada", email: "ada@example.com" });
    await members.create({ ...member, orgId, memberId: "mem_2", name: "Bo", email: "bo@example.com" });
    await members.create({ ...member, orgId: "org_2", memberId: "mem_3", name: "Cy", email: "cy@example.com" });
    await members.remove(orgId, "mem_2");
    const keys = ["mem_1", "mem_2", "mem_3", "key_1"];
    await store.audit.record(keys.map((keyId) => ({ orgId, keyId, action: "agent.created" })));

    const { items } = await consoleOf(store).audit.list(orgId, { limit: 10 });

    expect(items.map(({ keyId, member }) => [keyId, member])).toEqual([
      ["key_1", null],
      ["mem_3", null],
      ["mem_2", "Bo"],
      ["mem_1", "Ada"],
    ]);
  });
}

type Filter = Partial<Parameters<World["console"]["audit"]["list"]>[1]>;

async function actions({ store, orgId }: World, filter: Filter = {}): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await consoleOf(store).audit.list(orgId, {
      limit: 2,
      ...filter,
      ...(cursor !== undefined && { cursor }),
    });
    seen.push(...page.items.map(({ action }) => action));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return seen;
}

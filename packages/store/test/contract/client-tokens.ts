import { expect, test } from "vitest";
import { callerIdsOf } from "@patchbay/engine/ports/callers";
import { openWorld, type MakePlace, type World } from "./world.ts";

const FIXED = { role: "clerk", context: { customerId: "c_1" }, allow: ["mcp" as const] };

async function addToken({ store, agentId }: World, more = {}) {
  await store.accounts.createCredential({
    credentialId: "key_1",
    kind: "api",
    agentId,
    hash: "h1",
    hint: "a",
    roles: ["clerk"],
  });
  const token = { tokenId: "clt_1", keyId: "key_1", hash: "t1", ...FIXED, lifeMs: 1_000, ...more };
  return await store.clientTokens.create(token);
}

export function clientTokenContract(place: MakePlace): void {
  test("a client token is found with its key until it expires", async () => {
    await using world = await openWorld(place);
    const { clientTokens, accounts } = world.store;
    const proven = { subject: "ada", ids: callerIdsOf({ issuer: "https://id.example", subject: "ada" }) };
    const expiresAt = await addToken(world, { threadKey: "chat", proven });
    expect(expiresAt).toBe(world.clock.now() + 1_000);

    world.clock.advance(999);
    expect(await clientTokens.find("t1")).toEqual({
      token: { tokenId: "clt_1", ...FIXED, threadKey: "chat", proven },
      key: await accounts.findCredential("api", "h1"),
    });
    expect(await clientTokens.find("h1")).toBeUndefined();
    expect(await accounts.findCredential("api", "t1")).toBeUndefined();
    expect(await clientTokens.valid(["clt_1", "clt_2"])).toEqual(new Set(["clt_1"]));
    world.clock.advance(1);
    expect(await clientTokens.find("t1")).toBeUndefined();
    expect(await clientTokens.valid(["clt_1"])).toEqual(new Set());
  });

  test("a client token keeps what it allows, and one of an earlier version opens the chat only", async () => {
    await using world = await openWorld(place);
    const found = async () => (await world.store.clientTokens.find("t1"))?.token;
    await addToken(world, { allow: ["mcp", "ui-stream"], reasoning: true });
    expect(await found()).toMatchObject({ allow: ["mcp", "ui-stream"], reasoning: true });

    await world.place.execute("update client_tokens set allow = null, reasoning = null");

    expect(await found()).toMatchObject({ allow: ["ui-stream"] });
    expect(await found()).not.toHaveProperty("reasoning");
  });

  test("a client token of an earlier version has the caller without its issuer", async () => {
    await using world = await openWorld(place);
    await addToken(world, { proven: { subject: "ada" } });

    const found = await world.store.clientTokens.find("t1");

    expect(found?.token.proven).toEqual({ subject: "ada", ids: callerIdsOf({ subject: "ada" }) });
  });

  test.each<[string, (world: World) => Promise<unknown>]>([
    ["is revoked", ({ store }) => store.accounts.revokeCredential("api", "key_1")],
    [
      "is replaced without an overlap",
      ({ store }) =>
        store.accounts.rotateCredential("api", "key_1", { credentialId: "key_2", hash: "h2", hint: "" }, 0),
    ],
    ["is of a deleted agent", ({ store, agentId }) => store.accounts.deleteAgent(agentId)],
  ])("a client token ends when its key %s", async (_what, end) => {
    await using world = await openWorld(place);
    const { clientTokens } = world.store;
    await addToken(world);
    expect(await clientTokens.find("t1")).toMatchObject({ token: FIXED, key: { roles: ["clerk"] } });

    await end(world);

    expect(await clientTokens.find("t1")).toBeUndefined();
    expect(await clientTokens.valid(["clt_1"])).toEqual(new Set());
  });

  test("expired client tokens are swept, valid ones stay", async () => {
    await using world = await openWorld(place);
    const { store, clock } = world;
    await addToken(world);
    const stays = { tokenId: "clt_2", keyId: "key_1", hash: "t2", ...FIXED, lifeMs: 5_000 };
    await store.clientTokens.create(stays);
    clock.advance(1_000);
    await store.sweep({ days: 30 });
    const rows = await store.engine.db.selectFrom("client_tokens").select("id").execute();
    expect(rows).toEqual([{ id: "clt_2" }]);
  });
}

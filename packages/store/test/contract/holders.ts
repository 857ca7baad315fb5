import { present } from "@patchbay/kit";
import { expect, test } from "vitest";
import { openWorld, sampleRequest, type MakePlace } from "./world.ts";

const HOUR_MS = 3_600_000;
const KEYS = ["key_ada", "key_eve", "key_program", "key_inner", "key_command_token", "key_command", "key_command_2"];
const MAKERS: Record<string, string | undefined> = {
  svt_ada: "mem_ada",
  svt_inner: "svt_ada",
  svt_command: undefined,
  key_ada: "mem_ada",
  key_eve: "mem_eve",
  key_program: "svt_ada",
  key_inner: "svt_inner",
  key_command_token: "svt_command",
};

/** A world with keys and service tokens of the makers. */
async function openMade(place: MakePlace) {
  const world = await openWorld(place);
  const { store, orgId, agentId } = world;
  const makeToken = (tokenId: string, createdBy?: string, expiresAt?: number) =>
    store.serviceTokens.create({
      tokenId,
      orgId,
      hash: tokenId,
      hint: "",
      scopes: ["keys:write"],
      ...present({ createdBy, expiresAt }),
    });
  const makeKey = (credentialId: string, createdBy?: string, expiresAt?: number) =>
    store.accounts.createCredential({
      credentialId,
      kind: "api",
      agentId,
      hash: credentialId,
      hint: "",
      ...present({ createdBy, expiresAt }),
    });
  const rotateKey = (credentialId: string, to: string, overlapMs: number, createdBy?: string) =>
    store.accounts.rotateCredential(
      "api",
      credentialId,
      { credentialId: to, hash: to, hint: "", ...present({ createdBy }) },
      overlapMs,
    );
  const rotateToken = (tokenId: string, to: string, overlapMs: number, createdBy?: string) =>
    store.serviceTokens.rotate(
      { orgId, tokenId },
      { tokenId: to, hash: to, hint: "", ...present({ createdBy }) },
      overlapMs,
    );
  for (const id of ["svt_ada", "svt_inner", "svt_command"]) await makeToken(id, MAKERS[id]);
  for (const id of KEYS) await makeKey(id, MAKERS[id]);
  const { runId } = await world.start();
  const same = (own: string, requestedBy: string, of = runId) =>
    store.accounts.haveSameHolder(own, { requestedBy, runId: of });
  return { ...world, makeToken, makeKey, rotateKey, rotateToken, same };
}

export function holderContract(place: MakePlace): void {
  test("what one member made, also by a service token, has one holder with the member", async () => {
    await using world = await openMade(place);
    const ofAda = ["mem_ada", "svt_ada", "svt_inner", "key_ada", "key_program", "key_inner"];
    const others = ["mem_eve", "key_eve", "svt_command", "key_command_token", "key_command", "key_command_2"];

    for (const own of ofAda) {
      for (const asked of ofAda) expect([own, asked, await world.same(own, asked)]).toEqual([own, asked, true]);
      for (const asked of others) {
        expect([own, asked, await world.same(own, asked)]).toEqual([own, asked, false]);
        expect([asked, own, await world.same(asked, own)]).toEqual([asked, own, false]);
      }
    }
  });

  test("without a member, a key is compared by itself and by the service token that made it", async () => {
    await using world = await openMade(place);
    expect(await world.same("key_command", "key_command")).toBe(true);
    expect(await world.same("key_command", "key_command_2")).toBe(false);
    expect(await world.same("svt_command", "key_command_token")).toBe(true);
    expect(await world.same("key_command", "key_command_token")).toBe(false);
  });

  test("each member who rotates a key or a service token is a maker of all its rotations", async () => {
    await using world = await openMade(place);
    await world.rotateKey("key_eve", "key_eve_2", HOUR_MS, "mem_ada");
    await world.rotateKey("key_eve_2", "key_eve_3", HOUR_MS);
    for (const one of ["key_eve", "key_eve_2", "key_eve_3"])
      for (const other of ["mem_ada", "mem_eve", "key_ada", "key_eve", "key_eve_2", "key_eve_3"])
        expect([one, other, await world.same(one, other)]).toEqual([one, other, true]);

    await world.rotateToken("svt_command", "svt_command_2", HOUR_MS);
    expect(await world.same("svt_command_2", "key_command_token")).toBe(true);
    await world.rotateToken("svt_command_2", "svt_command_3", HOUR_MS, "mem_eve");
    for (const one of ["svt_command", "svt_command_2", "svt_command_3", "mem_eve"])
      expect([one, await world.same(one, "key_command_token")]).toEqual([one, true]);
    expect(await world.same("key_eve", "key_command_token")).toBe(true);
    expect(await world.same("key_command", "key_command_token")).toBe(false);
  });

  test("each sender of a retried run asked for its calls", async () => {
    await using world = await openMade(place);
    const failed = await world.start({ keyId: "key_ada" });
    const first = await world.start({ keyId: "key_command" });
    const request = sampleRequest({ retryOf: { runId: failed.runId, continues: [failed.runId, first.runId] } });
    const { runId } = await world.start({ keyId: "key_eve", request });

    for (const own of ["mem_ada", "key_program", "mem_eve", "key_eve", "key_command"])
      for (const requestedBy of ["key_eve", "key_ada"])
        expect([own, await world.same(own, requestedBy, runId)]).toEqual([own, true]);
    expect(await world.same("key_command_2", "key_eve", runId)).toBe(false);
    expect(await world.same("mem_ada", "key_eve", "run_unknown")).toBe(false);
  });

  test("a list has the makers of a key and of those that it replaces, oldest first", async () => {
    await using world = await openMade(place);
    const { store, agentId, orgId, clock } = world;
    for (const [at, by] of ["mem_ada", "mem_eve", "svt_ada", "mem_ada"].entries()) {
      clock.advance(1);
      await world.rotateKey(at === 0 ? "key_eve" : `key_eve_${at}`, `key_eve_${at + 1}`, HOUR_MS, by);
    }
    const makersIn = (items: { credentialId: string; makers?: unknown }[], id: string) =>
      items.find(({ credentialId }) => credentialId === id)?.makers;

    const items = await store.accounts.listCredentials("api", agentId);
    const shown = await world.console.credentials.list({ orgId, agentId }, { limit: 50 });

    const makers = ["mem_eve", "mem_ada", "svt_ada"];
    expect(makersIn(items, "key_eve_4")).toEqual(makers);
    expect(makersIn(items, "key_ada")).toEqual(["mem_ada"]);
    expect(makersIn(items, "key_command")).toBeUndefined();
    expect(makersIn(shown.items, "key_eve_4")).toEqual(makers.map((id) => ({ id, name: id })));
    expect(shown.items.find(({ credentialId }) => credentialId === "key_command")).not.toHaveProperty("makers");
  });

  test("what a service token makes or rotates ends with it, at the latest", async () => {
    await using world = await openMade(place);
    const { store, orgId, agentId, clock } = world;
    const end = clock.now() + HOUR_MS;
    await world.makeToken("svt_short", "mem_ada", end);

    expect(await world.makeKey("key_none", "svt_short")).toBe(end);
    expect(await world.makeKey("key_long", "svt_short", end + 1)).toBe(end);
    expect(await world.makeKey("key_short", "svt_short", end - 1)).toBe(end - 1);
    expect(await world.makeKey("key_of_member", "mem_ada")).toBeNull();
    await world.makeToken("svt_made", "svt_short");
    expect(await store.serviceTokens.get(orgId, "svt_made")).toMatchObject({ expiresAt: end });

    const rotated = { expiresAt: end, oldEndsAt: end };
    expect(await world.rotateKey("key_eve", "key_eve_2", 9 * HOUR_MS, "svt_short")).toMatchObject(rotated);
    expect(await world.rotateKey("key_ada", "key_ada_2", 1, "svt_short")).toMatchObject({ oldEndsAt: clock.now() + 1 });
    expect(await world.rotateToken("svt_ada", "svt_ada_2", 9 * HOUR_MS, "svt_short")).toEqual({ oldEndsAt: end });
    await world.rotateToken("svt_short", "svt_short_2", 1, "svt_short");
    for (const id of ["svt_ada_2", "svt_short_2"])
      expect(await store.serviceTokens.get(orgId, id)).toMatchObject({ expiresAt: end });
    expect(await world.rotateKey("key_command", "key_command_3", 0)).not.toHaveProperty("expiresAt");

    clock.advance(HOUR_MS);
    const valid = (await store.accounts.listCredentials("api", agentId)).map(({ credentialId }) => credentialId);
    expect(await store.accounts.validCredentials(valid)).toEqual(
      new Set(["key_program", "key_inner", "key_command_token", "key_command_2", "key_command_3", "key_of_member"]),
    );
  });

  test("a link that a service token makes ends with the token, at the latest", async () => {
    await using world = await openMade(place);
    const { store, orgId, clock } = world;
    const end = clock.now() + HOUR_MS;
    await world.makeToken("svt_short", "mem_ada", end);
    const invite = (hash: string, by: string, lifeMs: number) => {
      const member = { memberId: `mem_${hash}`, orgId, email: `${hash}@example.com`, name: "Ann", passwordHash: null };
      return store.signIn.invite({ hash, member: { ...member, role: "viewer" }, lifeMs, by });
    };

    expect(await invite("long", "svt_short", 9 * HOUR_MS)).toMatchObject({ expiresAt: end });
    expect(await invite("short", "svt_short", 1)).toMatchObject({ expiresAt: clock.now() + 1 });
    expect(await invite("endless", "svt_ada", 9 * HOUR_MS)).toMatchObject({ expiresAt: clock.now() + 9 * HOUR_MS });
  });
}

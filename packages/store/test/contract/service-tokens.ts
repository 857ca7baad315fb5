import { expect, test } from "vitest";
import { type MakePlace, openWorld } from "./world.ts";

const FRESH = { tokenId: "svt_2", hash: "hash_2", hint: "2…2" };

export function serviceTokenContract(place: MakePlace): void {
  test("a service token is found by its hash until it expires", async () => {
    await using world = await openWorld(place);
    const { orgId, clock } = world;
    const { serviceTokens } = world.store;
    const expiresAt = clock.now() + 1_000;
    const token = { tokenId: "svt_1", orgId, hash: "hash_1", hint: "1…1", scopes: ["keys:read" as const] };
    await serviceTokens.create({ ...token, label: "deploy", createdBy: "mem_1", expiresAt });

    const { hash: _hash, ...stored } = token;
    expect(await serviceTokens.find("hash_1")).toEqual({
      ...stored,
      label: "deploy",
      createdBy: "mem_1",
      createdAt: clock.now(),
      expiresAt,
      state: "active",
      tier: expect.any(String),
    });
    expect(await serviceTokens.find("hash_2")).toBeUndefined();
    expect(await serviceTokens.get("org_2", "svt_1")).toBeUndefined();
    expect([...(await serviceTokens.valid(["svt_1", "svt_9"]))]).toEqual(["svt_1"]);
    clock.advance(1_000);
    expect(await serviceTokens.find("hash_1")).toBeUndefined();
    expect(await serviceTokens.get(orgId, "svt_1")).toMatchObject({ state: "expired" });
    expect([...(await serviceTokens.valid(["svt_1"]))]).toEqual([]);
  });

  test("a rotation keeps scopes, label and lifetime; the old token ends after the overlap", async () => {
    await using world = await openWorld(place);
    const { orgId, clock } = world;
    const { serviceTokens } = world.store;
    const start = clock.now();
    const about = { orgId, scopes: ["audit:read" as const], label: "siem" };
    await serviceTokens.create({ tokenId: "svt_1", hash: "hash_1", hint: "1…1", ...about, expiresAt: start + 10_000 });
    clock.advance(1_000);

    expect(await serviceTokens.rotate({ orgId: "org_2", tokenId: "svt_1" }, FRESH, 500)).toBeUndefined();
    expect(await serviceTokens.rotate({ orgId, tokenId: "svt_1" }, FRESH, 500)).toEqual({ oldEndsAt: start + 1_500 });

    expect(await serviceTokens.get(orgId, "svt_2")).toMatchObject({ ...about, expiresAt: start + 11_000 });
    const listed = async () =>
      (await serviceTokens.list(orgId, { limit: 9 })).items.map((one) => [one.tokenId, one.state]);
    expect(await listed()).toEqual([
      ["svt_2", "active"],
      ["svt_1", "active"],
    ]);
    clock.advance(500);
    expect(await listed()).toEqual([
      ["svt_2", "active"],
      ["svt_1", "expired"],
    ]);
    expect(await serviceTokens.rotate({ orgId, tokenId: "svt_1" }, FRESH, 500)).toBeUndefined();
  });

  test("of two rotations at the same time without an overlap, one succeeds", async () => {
    await using world = await openWorld(place);
    const { orgId } = world;
    const { serviceTokens } = world.store;
    await serviceTokens.create({ tokenId: "svt_1", orgId, hash: "hash_1", hint: "1…1", scopes: ["keys:read"] });
    const rotate = (n: string) =>
      serviceTokens.rotate({ orgId, tokenId: "svt_1" }, { tokenId: `svt_${n}`, hash: `hash_${n}`, hint: n }, 0);

    const rotated = await Promise.all(["a", "b"].map(rotate));

    expect(rotated.filter((one) => one !== undefined)).toHaveLength(1);
    expect(await serviceTokens.find("hash_1")).toBeUndefined();
  });

  test("a revocation ends the token and the unused links that it made, and nothing of other organisations", async () => {
    await using world = await openWorld(place);
    const { orgId } = world;
    const { serviceTokens, signIn } = world.store;
    await serviceTokens.create({ tokenId: "svt_1", orgId, hash: "hash_1", hint: "1…1", scopes: ["members:write"] });
    const invite = (hash: string) => {
      const about = { memberId: `mem_${hash}`, email: `${hash}@example.com`, name: "Ann", role: "viewer" as const };
      return signIn.invite({ hash, member: { ...about, orgId, passwordHash: null }, lifeMs: 60_000, by: "svt_1" });
    };
    expect(await invite("link_1")).toMatchObject({ kind: "made" });
    expect(await signIn.link("link_1")).toMatchObject({ kind: "invitation" });
    expect((await signIn.pendingLinks(orgId, { limit: 9 })).items).toMatchObject([{ createdBy: null }]);

    expect(await serviceTokens.revoke("org_2", "svt_1")).toBe(false);
    expect(await serviceTokens.find("hash_1")).toBeDefined();
    expect(await serviceTokens.revoke(orgId, "svt_1")).toBe(true);

    expect(await serviceTokens.find("hash_1")).toBeUndefined();
    expect(await signIn.link("link_1")).toBeUndefined();
    expect(await invite("link_2")).toEqual({ kind: "not_owner" });
  });

  test("the last use is stored at most once a minute, and lists continue at a cursor", async () => {
    await using world = await openWorld(place);
    const { orgId, clock } = world;
    const { serviceTokens } = world.store;
    for (const n of [1, 2, 3]) {
      await serviceTokens.create({ tokenId: `svt_${n}`, orgId, hash: `h${n}`, hint: "x", scopes: ["keys:read"] });
      clock.advance(1);
    }
    const used = clock.now();
    await serviceTokens.touch("svt_1");
    clock.advance(59_000);
    await serviceTokens.touch("svt_1");
    expect(await serviceTokens.get(orgId, "svt_1")).toMatchObject({ lastUsedAt: used });
    clock.advance(1_000);
    await serviceTokens.touch("svt_1");
    expect(await serviceTokens.get(orgId, "svt_1")).toMatchObject({ lastUsedAt: used + 60_000 });

    const first = await serviceTokens.list(orgId, { limit: 2 });
    const second = await serviceTokens.list(orgId, { limit: 2, cursor: first.nextCursor ?? "" });
    expect([first, second].map(({ items }) => items.map(({ tokenId }) => tokenId))).toEqual([
      ["svt_3", "svt_2"],
      ["svt_1"],
    ]);
    expect(second.nextCursor).toBeNull();
  });
}

import { createHash } from "node:crypto";
import { defineFunction, defineService } from "@patchbay/functions";
import type { AccessMatrix, WidenedSet } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { z } from "zod";
import { manifestOf } from "../../engine/test/run/fake-gateway.ts";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

type Desk = Awaited<ReturnType<typeof openDesk>>;

/** A deployment with one function says hello. Resolves with the hash of its set. */
async function deploy({ plane, agentId }: Desk, deployment: string, roles: string[]): Promise<string> {
  const manifest = { ...manifestOf({ wipe_data: roles }), name: "shop" };
  const manifestHash = createHash("sha256").update(JSON.stringify(manifest)).digest("hex");
  const { runtimes } = plane.store;
  await runtimes.saveManifest(agentId, manifestHash, manifest);
  const set = { service: "shop", deployment, named: true, manifestHash };
  await runtimes.noteSet(agentId, set, manifest, { keyId: "rtk_1" });
  return manifestHash;
}

const shop = (roles: string[]) =>
  defineService({
    name: "shop",
    defaultRole: "customer",
    functions: [
      defineFunction({
        name: "wipe_data",
        description: "Wipes the data.",
        input: z.object({}),
        roles,
        handler: async () => "wiped",
      }),
    ],
  });

async function openWidened() {
  const desk = await openDesk();
  const developer = await desk.member("developer");
  const first = await deploy(desk, "v1", ["admin"]);
  await developer.json("PATCH", desk.agent, { body: { accessChanges: "confirm" } });
  const wider = await deploy(desk, "v2", ["admin", "guest"]);
  return {
    desk,
    developer,
    first,
    wider,
    list: () =>
      developer.json<{ items: WidenedSet[]; nextCursor: string | null }>("GET", `${desk.agent}/access/widenings`),
    [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose](),
  };
}

test("a set that widens access is pending with its differences until a developer confirms it", async () => {
  await using widened = await openWidened();
  const { desk, developer, first, wider, list } = widened;
  const pending = {
    service: "shop",
    deployment: "v2",
    named: true,
    manifestHash: wider,
    replaces: first,
    widenings: [{ functionName: "wipe_data", text: "guest gained wipe_data." }],
    confirmation: "pending",
    confirmedBy: null,
    confirmedAt: null,
  };
  // The agent has another service, so the first set of this one is listed too.
  const before = { deployment: "v1", replaces: null, confirmation: "none" };
  expect(await list()).toMatchObject({ items: [pending, before], nextCursor: null });

  const path = `${desk.agent}/access/confirmations`;
  const response = await developer.ask("POST", path, { body: { manifestHash: wider.slice(0, 8) } });

  expect(response.status).toBe(204);
  const { items } = await list();
  expect(items).toMatchObject([
    { deployment: "v2", confirmation: "confirmed", confirmedBy: expect.any(String), confirmedAt: expect.any(String) },
    before,
  ]);
  const audit = await desk.admin.listAudit(desk.agentId, { action: "access.confirmed" });
  expect(audit.items).toMatchObject([
    { keyId: developer.memberId, manifestHash: wider, detail: { service: "shop", deployment: "v2", count: 1 } },
  ]);
});

test("a set that a service token confirmed names the token's label", async () => {
  await using widened = await openWidened();
  const { desk, wider, list } = widened;
  const scopes = ["agents:write"] as const;
  const { secret } = await desk.admin.serviceTokens.create({ orgId: desk.orgId, scopes, label: "pipeline" });

  const response = await fetch(`${desk.url}/api${desk.agent}/access/confirmations`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify({ manifestHash: wider }),
  });

  expect(response.status).toBe(204);
  expect((await list()).items[0]).toMatchObject({ confirmation: "confirmed", confirmedBy: "pipeline" });
});

test("the matrix shows the serving set, not a pending one", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const rolesOfWipe = async () => {
    const { functions, roles, connected } = await developer.json<AccessMatrix>("GET", `${desk.agent}/access`);
    const wipe = functions.find(({ name }) => name === "wipe_data");
    return { connected, named: wipe && wipe.roles !== "everyone" && wipe.roles.map((index) => roles[index]) };
  };
  await desk.connect(shop(["admin"]), { deployment: "v1" });
  expect(await rolesOfWipe()).toEqual({ connected: true, named: ["admin"] });

  await developer.json("PATCH", desk.agent, { body: { accessChanges: "confirm" } });
  await desk.connect(shop(["admin", "guest"]), { deployment: "v2" });
  expect(await rolesOfWipe()).toEqual({ connected: true, named: ["admin"] });
  const { services } = await developer.json<{ services: unknown[] }>("GET", `${desk.agent}/access/services`);
  expect(services).toMatchObject([
    { service: "desk", serves: true },
    { service: "shop", serves: true, deployment: "v1", isFallback: false },
  ]);

  const { items } = await developer.json<{ items: WidenedSet[] }>("GET", `${desk.agent}/access/widenings`);
  const body = { manifestHash: items[0]!.manifestHash };
  await developer.ask("POST", `${desk.agent}/access/confirmations`, { body });
  await expect.poll(rolesOfWipe).toEqual({ connected: true, named: ["admin", "guest"] });
});

test("of many widenings of a set, 50 are listed and the others counted", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  const names = Array.from({ length: 60 }, (_, i) => `wipe_${i}`);
  await deploy(desk, "v1", ["admin"]);
  const manifest = { ...manifestOf(Object.fromEntries(names.map((name) => [name, ["admin"]]))), name: "shop" };
  await desk.plane.store.runtimes.saveManifest(desk.agentId, "large", manifest);
  const set = { service: "shop", deployment: "v2", named: true, manifestHash: "large" };
  await desk.plane.store.runtimes.noteSet(desk.agentId, set, manifest, { keyId: "rtk_1" });

  const { items } = await viewer.json<{ items: WidenedSet[] }>("GET", `${desk.agent}/access/widenings`);

  expect(items[0]!.widenings).toHaveLength(50);
  expect(items[0]).toMatchObject({ deployment: "v2", omitted: 10, confirmation: "none" });
});

test("only a pending set can be confirmed, by an unambiguous hash", async () => {
  await using widened = await openWidened();
  const { desk, developer, first, wider } = widened;
  const confirm = async (manifestHash: string) =>
    failureOf(await developer.ask("POST", `${desk.agent}/access/confirmations`, { body: { manifestHash } }));

  expect(await confirm(first)).toEqual([409, "conflict"]);
  expect(await confirm(wider.slice(0, 7))).toEqual([400, "invalid_request"]);
  expect(await confirm("0123456789abcdef")).toEqual([400, "invalid_request"]);
  await expect(desk.admin.acceptAccess(desk.agentId, wider.slice(0, 7))).rejects.toThrow(/at least 8 characters/);
  await expect(desk.admin.acceptAccess(desk.agentId, "0123456789abcdef")).rejects.toThrow(`Waiting: ${wider}`);

  await desk.admin.acceptAccess(desk.agentId, wider);
  await expect(desk.admin.acceptAccess(desk.agentId, wider)).rejects.toThrow(/is not waiting for a confirmation/);
});

test("a viewer reads widenings but confirms none; another organisation finds neither", async () => {
  await using widened = await openWidened();
  const { desk, wider, list } = widened;
  const viewer = await desk.member("viewer");
  const org = await desk.admin.createOrg("Other");
  const stranger = await desk.member("owner", org.orgId);
  const body = { manifestHash: wider };

  expect((await viewer.ask("GET", `${desk.agent}/access/widenings`)).status).toBe(200);
  expect(await failureOf(await viewer.ask("POST", `${desk.agent}/access/confirmations`, { body }))).toEqual([
    403,
    "console_role_required",
  ]);
  expect((await stranger.ask("GET", `${desk.agent}/access/widenings`)).status).toBe(404);
  expect((await stranger.ask("POST", `${desk.agent}/access/confirmations`, { body })).status).toBe(404);
  expect((await list()).items).toMatchObject([{ confirmation: "pending" }, { confirmation: "none" }]);
});

import type { Manifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { openOffice, TickingClock } from "./office.ts";

const DAY_MS = 86_400_000;

/** An agent whose services a test connects, and a member of its organisation. */
async function openReviewed() {
  const clock = new TickingClock();
  const office = await openOffice(clock);
  const { admin, store } = office;
  const orgId = await admin.orgFor();
  const { agentId } = await admin.createAgent("Desk", { orgId });
  const { member } = await admin.members.invite({ orgId, email: "ada@example.com", role: "developer" });
  await store.members.changeAccount(member.memberId, { passwordHash: "joined" });
  return {
    ...office,
    clock,
    agentId,
    memberId: member.memberId,
    async connect(service: string, manifestHash: string, lock?: Record<string, unknown>) {
      const manifest: Manifest = { name: service, preparesContext: false, functions: [] };
      await store.runtimes.saveManifest(agentId, manifestHash, manifest, lock ? { lock } : {});
      const set = { service, deployment: manifestHash, named: true, manifestHash };
      await store.runtimes.noteSet(agentId, set, manifest, { keyId: "rtk_1" });
      const own = { agentId, service, manifestHash, instanceId: service, connectionId: `con_${manifestHash}` };
      const connection = { ...own, deployment: manifestHash, replicaId: "rep_1", concurrency: 1, draining: false };
      await store.runtimes.connectionOpened(connection);
    },
  };
}

const [FIRST, SECOND, MAIL] = ["1".repeat(64), "2".repeat(64), "3".repeat(64)];

test("a member signs off the sets and locks in force, until another lock or set is connected", async () => {
  await using desk = await openReviewed();
  const { admin, agentId, memberId } = desk;
  await desk.connect("shop", FIRST, { version: 3 });
  expect(await admin.accessReview(agentId)).toMatchObject({ signed: null, changed: [], isDue: false });

  const signed = await admin.signAccess(agentId, { sets: [FIRST.slice(0, 8)], days: 90, member: memberId });

  const sets = [{ service: "shop", manifestHash: FIRST, lock: expect.stringMatching(/^[0-9a-f]{64}$/) as string }];
  expect(signed).toMatchObject({ sets, signed: { by: "ada" }, changed: [], isDue: false });
  const [entry] = (await admin.listAudit(agentId, { limit: 1 })).items;
  expect(entry).toMatchObject({ action: "access.signed", detail: { memberId, days: 90, sets } });

  const changed = async () => (await admin.accessReview(agentId)).changed;
  await desk.connect("mail", MAIL);
  expect(await changed()).toEqual(["mail"]);
  await desk.connect("shop", FIRST, { version: 4 });
  expect(await changed()).toEqual(["mail", "shop"]);
  await admin.signAccess(agentId, { sets: [FIRST, MAIL], days: 90, member: memberId });
  expect(await changed()).toEqual([]);
  await desk.connect("shop", SECOND, { version: 4 });
  expect(await changed()).toEqual(["shop"]);
});

test("a review is due after the signed number of days", async () => {
  await using desk = await openReviewed();
  const { admin, agentId, clock } = desk;
  await desk.connect("shop", FIRST);
  await admin.signAccess(agentId, { sets: [FIRST], days: 30, member: "ADA@example.com" });

  clock.advance(29 * DAY_MS);
  expect((await admin.accessReview(agentId)).isDue).toBe(false);
  clock.advance(DAY_MS);
  expect((await admin.accessReview(agentId)).isDue).toBe(true);
});

test("a sign-off that does not name all sets in force, or no member, is refused", async () => {
  await using desk = await openReviewed();
  const { admin, agentId, memberId: member } = desk;
  const sign = (...sets: string[]) => admin.signAccess(agentId, { sets, days: 90, member });
  await expect(sign(FIRST)).rejects.toThrow("no runtime is connected");
  await desk.connect("mail", MAIL);
  await desk.connect("shop", FIRST);

  const others = `In force are ${MAIL} (mail), ${FIRST} (shop). Review and name these.`;
  for (const sets of [[FIRST], [FIRST, FIRST], [FIRST, MAIL, SECOND], [FIRST, "3333333"]])
    await expect(sign(...sets)).rejects.toThrow(others);
  await expect(admin.signAccess(agentId, { sets: [FIRST, MAIL], days: 90, member: "mem_other" })).rejects.toThrow(
    "There is no member mem_other",
  );
  expect((await admin.accessReview(agentId)).signed).toBeNull();
});

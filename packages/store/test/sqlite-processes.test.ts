import { expect, test } from "vitest";
import { printFigure } from "@patchbay/test-support/figures";
import { lockStore, openStore } from "../src/open.ts";
import { StoreInUse } from "../src/dialect/sqlite-files.ts";
import { spawnChild } from "./children.ts";
import { sqlitePlace } from "./sqlite-place.ts";

const KILLS = 25;
const TOGETHER = 5;

test("kill -9 of writers during commits loses no stored event, 25 times", async () => {
  await using place = await sqlitePlace();
  expect(await spawnChild("open", place.url).exit).toBe(0);
  const store = await openStore(place.url);
  await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
  await store.accounts.createAgent({ agentId: "agt_1", orgId: "org_1", name: "Clerk", instructions: "" });
  let acknowledged = 0;
  let lost = 0;

  for (let kills = 0; kills < KILLS; kills += TOGETHER) {
    const writers = Array.from({ length: TOGETHER }, (_, i) => killWhileWriting(place.url, 1 + ((kills + i) % 20)));
    for (const last of await Promise.all(writers)) {
      const events = await store.runs.events(last.runId, 0, 10_000);
      lost += Math.max(0, last.seq - events.length);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      acknowledged += last.seq;
    }
  }

  printFigure("embedded store killed in its commits", { kills: KILLS, "events acknowledged": acknowledged, lost });
  expect(lost).toBe(0);
  expect(acknowledged).toBeGreaterThan(KILLS);
  expect(await place.rows("pragma integrity_check")).toEqual([{ integrity_check: "ok" }]);
  await store.close();
});

test("several processes can open a new database at the same time", async () => {
  await using place = await sqlitePlace();

  const children = Array.from({ length: 3 }, () => spawnChild("open", place.url));

  expect(await Promise.all(children.map(({ exit }) => exit))).toEqual([0, 0, 0]);
});

test("a second server on the same data fails with a remedy until the first ends, even by kill -9", async () => {
  await using place = await sqlitePlace();
  const child = spawnChild("lock", place.url);
  for await (const line of child.lines) if (line === "locked") break;

  await expect(lockStore(place.url)).rejects.toThrow(StoreInUse);
  await expect(lockStore(place.url)).rejects.toThrow(/Stop it first, or give this server its own data/);
  await child.kill();

  await using _lock = await lockStore(place.url);
  await expect(lockStore(place.url)).rejects.toThrow(StoreInUse);
});

test("a released lock can be taken again, and a store in memory needs none", async () => {
  await using place = await sqlitePlace();

  await (await lockStore(place.url))[Symbol.asyncDispose]();
  await using _again = await lockStore(place.url);
  await using _first = await lockStore("sqlite::memory:");
  await using _second = await lockStore("sqlite::memory:");
});

test("tools may use the database while a server holds its lock", async () => {
  await using place = await sqlitePlace();
  await using _lock = await lockStore(place.url);

  expect(await spawnChild("open", place.url).exit).toBe(0);
});

/** The last event that the child said was stored before it was killed. */
async function killWhileWriting(url: string, afterEvents: number): Promise<{ runId: string; seq: number }> {
  const child = spawnChild("write", url);
  let last: { runId: string; seq: number } | undefined;
  let killed: Promise<void> | undefined;
  for await (const line of child.lines) {
    const [runId = "", seq] = line.split(" ");
    last = { runId, seq: Number(seq) };
    if (last.seq >= afterEvents) killed ??= child.kill();
  }
  await killed;
  if (!last) throw new Error("the child stored nothing");
  return last;
}

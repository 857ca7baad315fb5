import type { AuditItem } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { collectEntries } from "../src/pages/audit/collect-entries.ts";

const entry = (id: string) => ({ id }) as AuditItem;

/** Pages of two entries each, asked for by their number. */
const pagesOf = (ids: string[]) => async (cursor: string | undefined) => {
  const from = Number(cursor ?? 0);
  const next = from + 2;
  return { items: ids.slice(from, next).map(entry), nextCursor: next < ids.length ? String(next) : null };
};

test("every page is collected, an entry a line, and its progress told", async () => {
  const told: number[] = [];

  const { text, count, cut } = await collectEntries(pagesOf(["a", "b", "c"]), (count) => told.push(count));

  expect(text).toBe('{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n');
  expect([count, cut]).toEqual([3, false]);
  expect(told).toEqual([2, 3]);
});

test("an export ends at its limit and says that there is more", async () => {
  const withinPage = await collectEntries(pagesOf(["a", "b", "c", "d"]), () => {}, 3);
  const atPageEnd = await collectEntries(pagesOf(["a", "b", "c"]), () => {}, 2);

  expect([withinPage.count, withinPage.cut]).toEqual([3, true]);
  expect([atPageEnd.count, atPageEnd.cut]).toEqual([2, true]);
});

test("as many entries as the limit are not cut", async () => {
  const exact = await collectEntries(pagesOf(["a", "b"]), () => {}, 2);

  expect([exact.count, exact.cut]).toEqual([2, false]);
});

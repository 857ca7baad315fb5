import type { AuditItem } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { collectEntries } from "../../src/pages/audit/audit-page.tsx";

const entry = (id: string) => ({ id }) as AuditItem;

/** Returns pages of two entries; the cursor is an index. */
const pagesOf = (ids: string[]) => async (cursor: string | undefined) => {
  const from = Number(cursor ?? 0);
  const next = from + 2;
  return { items: ids.slice(from, next).map(entry), nextCursor: next < ids.length ? String(next) : null };
};

test("all pages are collected, one entry per line, and progress is reported", async () => {
  const progress: number[] = [];

  const { text, count, cut } = await collectEntries(pagesOf(["a", "b", "c"]), (count) => progress.push(count));

  expect(text).toBe('{"id":"a"}\n{"id":"b"}\n{"id":"c"}\n');
  expect([count, cut]).toEqual([3, false]);
  expect(progress).toEqual([2, 3]);
});

test("an export stops at its limit and is marked as cut", async () => {
  const withinPage = await collectEntries(pagesOf(["a", "b", "c", "d"]), () => {}, 3);
  const atPageEnd = await collectEntries(pagesOf(["a", "b", "c"]), () => {}, 2);

  expect([withinPage.count, withinPage.cut]).toEqual([3, true]);
  expect([atPageEnd.count, atPageEnd.cut]).toEqual([2, true]);
});

test("exactly as many entries as the limit are not marked as cut", async () => {
  const exact = await collectEntries(pagesOf(["a", "b"]), () => {}, 2);

  expect([exact.count, exact.cut]).toEqual([2, false]);
});

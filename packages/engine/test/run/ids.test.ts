import { expect, test, vi } from "vitest";
import { newId } from "../../src/run/start/new-run.ts";

test("ids of one process sort in the order in which they were made, within a millisecond and after the clock was set back too", () => {
  vi.useFakeTimers({ now: Date.now() + 60_000 });
  try {
    const ids = Array.from({ length: 70_000 }, () => newId("run"));
    vi.setSystemTime(Date.now() - 5_000);
    ids.push(newId("run"), newId("run"));

    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => /^run_[0-9a-f]{32}$/.test(id))).toBe(true);
  } finally {
    vi.useRealTimers();
  }
});

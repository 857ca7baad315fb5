import { expect, test } from "vitest";
import { headOf, noChain } from "../src/audit/audit-chain.ts";
import { baseFaults, detailOf } from "../src/audit/audit-deletions.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const AT = Date.UTC(2030, 0, 1);

/** Faults of a chain whose first seal was deleted at this age by a retention of 30 days. */
function faultsAt(ageMs: number, nowMs = AT + ageMs): string[] {
  const seal = {
    org_id: "org_1",
    seq: 1,
    entries: 2,
    to_at: AT,
    to_id: "aud_2",
    content: "c",
    digests: "",
    sealed_at: AT,
  };
  const none = noChain("org_1");
  const last = { ...seal, head: headOf(none.head, seal) };
  const detail = detailOf(last, { entries: 2, total: 2, days: 30, before: none.head });
  const base = { base_seq: 1, base_head: last.head, base_at: AT, base_id: "aud_2", base_entries: 2 };
  return baseFaults({ ...none, ...base }, [{ id: "aud_9", at: AT + ageMs, detail }], nowMs);
}

test("a clock that is set by less than an hour while a deletion is recorded gives no fault", () => {
  expect(faultsAt(30 * DAY_MS)).toEqual([]);
  expect(faultsAt(30 * DAY_MS - HOUR_MS)).toEqual([]);
  expect(faultsAt(30 * DAY_MS, AT + 30 * DAY_MS - HOUR_MS)).toEqual([]);
  expect(faultsAt(30 * DAY_MS - HOUR_MS - 1)).toEqual([expect.stringMatching(/retention of 30 days.* 30\.0 days\.$/)]);
  expect(faultsAt(30 * DAY_MS, AT + 30 * DAY_MS - HOUR_MS - 1)).toEqual([expect.stringMatching(/dated after now\.$/)]);
});

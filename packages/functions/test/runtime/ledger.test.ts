import { expect, test } from "vitest";
import { createLedger } from "../../src/runtime/ledger.ts";

const MINUTE = 60_000;

function ledgerAt() {
  const time = { now: 0 };
  return { time, ledger: createLedger<string>(() => time.now) };
}

test("a result is kept until it is acknowledged, and its id longer", () => {
  const { ledger } = ledgerAt();
  ledger.keep("c1", { frame: "result", sender: "link" }, "claim");

  ledger.acknowledge("c1");

  expect([...ledger.unacknowledged()]).toEqual([]);
  expect(ledger.finished("c1")).toBe("claim");
});

test("ids of ended and refused calls are forgotten after ten minutes", () => {
  const { time, ledger } = ledgerAt();
  ledger.keep("ended", { frame: "", sender: undefined }, "claim");
  ledger.refuse("refused", 1);
  time.now = 11 * MINUTE;

  ledger.keep("later", { frame: "", sender: undefined }, "claim");

  expect(ledger.finished("ended")).toBe(undefined);
  expect(ledger.refuses("refused", 1)).toBe(false);
  expect(ledger.finished("later")).toBe("claim");
});

test("at most ten thousand ids are remembered, the oldest are forgotten first", () => {
  const { ledger } = ledgerAt();

  for (let i = 0; i < 25_000; i++) {
    ledger.keep(`c${i}`, { frame: "", sender: undefined }, "claim");
    ledger.refuse(`r${i}`, 1);
    expect(ledger.unacknowledgedCount).toBeLessThanOrEqual(10_000);
  }

  const remembered = Array.from({ length: 25_000 }, (_, i) => i).filter((i) => ledger.finished(`c${i}`) !== undefined);
  const refused = Array.from({ length: 25_000 }, (_, i) => i).filter((i) => ledger.refuses(`r${i}`, 1));
  expect(remembered.length).toBeGreaterThanOrEqual(9_500);
  expect(remembered.length).toBeLessThanOrEqual(10_000);
  expect(remembered).toEqual(remembered.map((_, i) => 25_000 - remembered.length + i));
  expect(refused).toEqual(remembered);
});

test("a refusal covers its attempt and older ones, and never shrinks", () => {
  const { ledger } = ledgerAt();
  ledger.refuse("c1", 3);
  ledger.refuse("c1", 2);

  expect([2, 3, 4].map((attempt) => ledger.refuses("c1", attempt))).toEqual([true, true, false]);
});

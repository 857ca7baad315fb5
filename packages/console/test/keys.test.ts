import { expect, test } from "vitest";
import { endsSoon, KINDS } from "../src/pages/keys/kinds.ts";

const NOW = Date.UTC(2026, 10, 22);
const inHours = (hours: number): string => new Date(NOW + hours * 3_600_000).toISOString();

test("texts about keys have no marks of Markdown, which the page would show", () => {
  expect(JSON.stringify(KINDS)).not.toContain("`");
});

test("a rotated key shows its end instead of its state", () => {
  expect(endsSoon({ state: "active", expiresAt: inHours(23) }, NOW)).toBe(inHours(23));
});

test("a key without an end, with a distant end, or that is not active shows its state", () => {
  expect(endsSoon({ state: "active", expiresAt: null }, NOW)).toBeUndefined();
  expect(endsSoon({ state: "active", expiresAt: inHours(24 * 30) }, NOW)).toBeUndefined();
  expect(endsSoon({ state: "revoked", expiresAt: inHours(23) }, NOW)).toBeUndefined();
});

import { defineFunction, defineService } from "@patchbay/functions";
import { callAs, runQuery } from "@patchbay/functions/testing";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";

const checkCoupon = defineFunction({
  name: "check_coupon",
  description: "Says whether a coupon is valid today.",
  input: z.object({ lastDay: z.iso.date() }),
  roles: ["customer"],
  effect: "read",
  handler: ({ lastDay }) => ({ valid: new Date().toISOString().slice(0, 10) <= lastDay }),
});

const waitForStock = defineFunction({
  name: "wait_for_stock",
  description: "Waits until an article is in stock.",
  input: z.object({}),
  roles: ["customer"],
  effect: "read",
  timeoutMs: 240_000,
  handler: () => new Promise((resolve) => setTimeout(resolve, 3_600_000)),
});

const shop = defineService({ name: "shop", functions: [checkCoupon, waitForStock] });
const coupon = { functionName: "check_coupon", role: "customer", input: { lastDay: "2026-12-31" } };

afterEach(() => void vi.useRealTimers());

test("a coupon is valid until the end of its last day", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-12-31T23:59:59Z") });
  expect(await callAs(shop, coupon)).toEqual({ ok: true, value: { valid: true } });

  vi.setSystemTime(new Date("2027-01-01T00:00:00Z"));
  expect(await callAs(shop, coupon)).toEqual({ ok: true, value: { valid: false } });
});

test("a whole query has the date, too", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: new Date("2027-01-01T00:00:00Z") });

  const { calls } = await runQuery(shop, {
    query: "Is my coupon valid?",
    role: "customer",
    model: [{ calls: [["check_coupon", coupon.input]] }, "No, it has expired."],
  });

  expect(calls[0]!.outcome).toEqual({ ok: true, value: { valid: false } });
});

test("a call ends after four minutes, of which the test waits none", async () => {
  vi.useFakeTimers();
  const call = callAs(shop, { functionName: "wait_for_stock", role: "customer" });

  await vi.advanceTimersByTimeAsync(240_000);

  expect(await call).toMatchObject({ ok: false, code: "timed_out" });
});

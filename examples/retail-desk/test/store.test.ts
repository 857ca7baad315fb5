import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { generateRetailData } from "../data/generate.ts";
import { loadRetailData } from "../data/load.ts";
import type { Order, RetailData, User } from "../data/shape.ts";
import { ADDRESS, anOrder, openDesk, snapshot } from "./desk-calls.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function writeFolder(data: Partial<Record<keyof RetailData, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), "retail-desk-"));
  folders.push(folder);
  for (const [name, records] of Object.entries(data))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(records));
  return folder;
}

test("reset_store restores the records and returns their counts", async () => {
  const desk = openDesk(generateRetailData);
  const fresh = snapshot(desk.store);
  const order = anOrder(desk, ({ status }) => status === "pending");
  await desk.succeed("modify_pending_order_address", { order_id: order.order_id, ...ADDRESS });
  await desk.succeed("cancel_pending_order", { order_id: order.order_id, reason: "no longer needed" });
  expect(await desk.succeed("reset_store", {})).toEqual({ users: 500, orders: 1000, products: 50 });
  expect(snapshot(desk.store)).toBe(fresh);
});

test("a result is a copy: later changes of the record do not change it, nor the reverse", async () => {
  const desk = openDesk();
  const { order_id } = anOrder(desk, ({ status }) => status === "pending");
  const before = await desk.succeed<Order>("get_order_details", { order_id });
  before.items.length = 0;
  const kept = await desk.succeed<Order>("get_order_details", { order_id });
  await desk.succeed("cancel_pending_order", { order_id, reason: "no longer needed" });
  expect(kept).toMatchObject({ status: "pending" });
  expect(kept.items.length).toBeGreaterThan(0);
});

test("of two cancellations at the same time one succeeds", async () => {
  const desk = openDesk();
  const order = anOrder(desk, ({ status }) => status === "pending");
  const { order_id } = order;
  const cancel = () => desk.call("cancel_pending_order", { order_id, reason: "no longer needed" });
  const outcomes = await Promise.all([cancel(), cancel()]);
  expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
  expect(outcomes.find((outcome) => !outcome.ok)).toMatchObject({
    code: "function_failed",
    message: "non-pending order cannot be cancelled",
  });
  expect(order.payment_history).toHaveLength(2);
});

test("a gift card is not overdrawn by two payments at the same time", async () => {
  const desk = openDesk();
  const first = anOrder(desk, ({ status }) => status === "pending");
  const second = anOrder(desk, (order) => order.status === "pending" && order !== first);
  second.user_id = first.user_id;
  const card = { source: "gift_card", id: "gift_card_0000001", balance: 100 } as const;
  desk.store.users.get(first.user_id)!.payment_methods[card.id] = card;
  for (const order of [first, second]) order.payment_history[0]!.amount = 60;
  const outcomes = await Promise.all(
    [first, second].map(({ order_id }) =>
      desk.call("modify_pending_order_payment", { order_id, payment_method_id: card.id }),
    ),
  );
  expect(outcomes.filter((outcome) => outcome.ok)).toHaveLength(1);
  expect(card.balance).toBe(40);
});

test("a property of the files that no output schema lists reaches no caller", async () => {
  const data = generateRetailData(3);
  const [[userId, user]] = Object.entries(data.users) as [[string, User]];
  const folder = writeFolder({ ...data, users: { ...data.users, [userId]: { ...user, nickname: "Ace" } } });
  const desk = openDesk(() => loadRetailData(folder));
  expect(await desk.succeed("get_user_details", { user_id: userId })).toEqual(user);
});

test("a missing file and a malformed one are reported by file and path", () => {
  const { users, orders } = generateRetailData();
  expect(() => loadRetailData(writeFolder({ users, orders }))).toThrow(/products\.json/);
  expect(() => loadRetailData(writeFolder({ users, orders, products: { p1: { name: 4 } } }))).toThrow(
    /products\.p1\.name/,
  );
});

test("a reset that cannot load leaves the records as they are", async () => {
  const folder = writeFolder(generateRetailData());
  const desk = openDesk(() => loadRetailData(folder));
  rmSync(join(folder, "orders.json"));
  const before = snapshot(desk.store);
  const outcome = await desk.call("reset_store", {});
  expect(outcome).toMatchObject({ ok: false, code: "function_failed" });
  expect(snapshot(desk.store)).toBe(before);
});

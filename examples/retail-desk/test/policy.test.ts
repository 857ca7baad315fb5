import type { JsonObject } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import {
  busyCustomer,
  costlyPendingOrder,
  deliveredOrder,
  pendingOrder,
  retailRecords,
  UNKNOWN_ORDER_ID,
  UNKNOWN_USER_ID,
} from "../../../test/support/retail.ts";
import type { Order } from "../data/shape.ts";
import { createRetailDesk } from "../desk.ts";
import { ADDRESS, anOrder, openDesk, snapshot, type Caller, type Desk } from "./desk-calls.ts";

const customer = (customerId: unknown): Caller => ({ role: "customer", context: { customerId } as JsonObject });
const NOBODY = {};
const AGENT = { role: "agent" };
const MANAGER = { role: "manager" };

const OPEN: [name: string, args: JsonObject][] = [
  ["list_all_product_types", {}],
  ["get_product_details", { product_id: Object.keys(retailRecords.products)[0]! }],
  ["calculate", { expression: "1 + 1" }],
  ["think", { thought: "hm" }],
  ["transfer_to_human_agents", { summary: "wants a person" }],
];
const { email, name, address } = busyCustomer.record;
const STAFF_ONLY: [name: string, args: JsonObject][] = [
  ["find_user_id_by_email", { email }],
  ["find_user_id_by_name_zip", { ...name, zip: address.zip }],
  ["grant_goodwill_refund", { order_id: deliveredOrder.orderId, amount: 1, reason: "late" }],
  ["send_order_message", { order_id: deliveredOrder.orderId, text: "It is on its way." }],
];
const ACCOUNT: [name: string, args: JsonObject][] = [
  ["get_user_details", {}],
  ["modify_user_address", ADDRESS],
];
const itemsOf = ({ items }: Order) => ({ item_ids: [items[0]!.item_id] });
const ORDER: [name: string, status: string, args: (order: Order) => JsonObject][] = [
  ["get_order_details", "pending", () => ({})],
  ["get_order_messages", "pending", () => ({})],
  ["modify_pending_order_address", "pending", () => ADDRESS],
  ["modify_pending_order_payment", "pending", () => ({ payment_method_id: "paypal_0000001" })],
  [
    "modify_pending_order_items",
    "pending",
    () => ({ item_ids: [], new_item_ids: [], payment_method_id: "paypal_0000001" }),
  ],
  [
    "exchange_delivered_order_items",
    "delivered",
    () => ({ item_ids: [], new_item_ids: [], payment_method_id: "paypal_0000001" }),
  ],
];
const LIMITED: typeof ORDER = [
  ["cancel_pending_order", "pending", () => ({ reason: "no longer needed" })],
  [
    "return_delivered_order_items",
    "delivered",
    (order) => ({ ...itemsOf(order), payment_method_id: "gift_card_0000001" }),
  ],
];

const ERROR_TEXTS = /not found|cannot be|should|insufficient|invalid|division/;

async function expectRefusal(desk: Desk, name: string, args: JsonObject, caller: Caller, code = "denied") {
  const before = snapshot(desk.store);
  const outcome = await desk.call(name, args, caller);
  expect(outcome).toMatchObject({ ok: false, code });
  if (outcome.ok) return;
  expect(outcome.message).not.toMatch(ERROR_TEXTS);
  if (code === "denied") expect(outcome.message).toMatch(/not permitted/i);
  expect(snapshot(desk.store)).toBe(before);
}

async function expectSuccess(name: string, args: JsonObject, caller: Caller, desk = openDesk()) {
  expect(await desk.call(name, args, caller)).toMatchObject({ ok: true });
}

/** A desk with two orders of `status` and `firstPayment`, on which every function for that status can succeed. */
function arrange(status: string, firstPayment: number): { desk: Desk; order: Order; foreign: Order } {
  const desk = openDesk();
  const order = anOrder(desk, (found) => found.status === status);
  const foreign = anOrder(desk, (found) => found.status === status && found.user_id !== order.user_id);
  for (const { user_id, payment_history } of [order, foreign]) {
    payment_history[0]!.amount = firstPayment;
    Object.assign(desk.store.users.get(user_id)!.payment_methods, {
      gift_card_0000001: { source: "gift_card", id: "gift_card_0000001", balance: 0 },
      paypal_0000001: { source: "paypal", id: "paypal_0000001" },
    });
  }
  return { desk, order, foreign };
}

test("the table of this file covers every function of the desk", () => {
  const named = [...OPEN, ...STAFF_ONLY, ...ACCOUNT, ...ORDER, ...LIMITED].map(([known]) => known);
  const { manifest } = createRetailDesk(openDesk().store);
  expect(manifest.functions.map((known) => known.name).toSorted()).toEqual([...named, "reset_store"].toSorted());
  expect(manifest).toMatchObject({ roles: ["customer", "agent", "manager"] });
  expect(manifest.defaultRole).toBeUndefined();
});

test.each(OPEN)("%s is open to everyone", async (name, args) => {
  for (const caller of [NOBODY, { role: "guest" }, customer("x"), customer(undefined), AGENT, MANAGER]) {
    await expectSuccess(name, args, caller);
  }
});

test.each(STAFF_ONLY)("%s is for agents and managers", async (name, args) => {
  const desk = openDesk();
  await expectRefusal(desk, name, args, customer(busyCustomer.userId), "unknown_function");
  await expectSuccess(name, args, AGENT, desk);
  await expectSuccess(name, args, MANAGER, desk);
});

test("reset_store is for managers", async () => {
  const desk = openDesk();
  for (const caller of [NOBODY, customer(busyCustomer.userId), AGENT]) {
    await expectRefusal(desk, "reset_store", {}, caller, "unknown_function");
  }
  await expectSuccess("reset_store", {}, MANAGER, desk);
});

const CLOSED: [name: string, args: JsonObject][] = [
  ...STAFF_ONLY,
  ...ACCOUNT.map(([name, args]): [string, JsonObject] => [name, { user_id: busyCustomer.userId, ...args }]),
  ...[...ORDER, ...LIMITED].map(([name, status, args]): [string, JsonObject] => {
    const { orderId, record } = status === "pending" ? pendingOrder : deliveredOrder;
    return [name, { order_id: orderId, ...args(record) }];
  }),
  ["reset_store", {}],
];

test.each(CLOSED)(
  "%s is closed without a role, and to any role but the three, letter by letter",
  async (name, args) => {
    const desk = openDesk();
    const context = { customerId: pendingOrder.ownerId, role: "manager" };
    for (const role of ["", "user", "Manager", "manager ", " agent", "CUSTOMER", "constructor", "everyone"]) {
      await expectRefusal(desk, name, args, { role, context }, "unknown_function");
    }
    await expectRefusal(desk, name, args, { context }, "unknown_function");
  },
);

describe.each(ACCOUNT)("%s", (name, members) => {
  const own = busyCustomer.userId;

  test("is for the customer's own account", async () => {
    await expectSuccess(name, { user_id: own, ...members }, customer(own));
  });

  test("is refused to a customer for another account, for an unknown one, and without an id", async () => {
    const desk = openDesk();
    for (const user_id of [pendingOrder.ownerId, UNKNOWN_USER_ID, "constructor", ""]) {
      await expectRefusal(desk, name, { user_id, ...members }, customer(own));
      await expectRefusal(desk, name, { user_id, ...members }, customer(""));
    }
    await expectRefusal(desk, name, { user_id: UNKNOWN_USER_ID, ...members }, customer(UNKNOWN_USER_ID));
    for (const id of [undefined, null, 0, true, [own], { own }, `${own} `, own.toUpperCase()]) {
      await expectRefusal(desk, name, { user_id: own, ...members }, customer(id));
    }
  });

  test("is for agents and managers with any account", async () => {
    for (const caller of [AGENT, MANAGER]) {
      const desk = openDesk();
      await expectSuccess(name, { user_id: own, ...members }, caller, desk);
      expect(await desk.call(name, { user_id: UNKNOWN_USER_ID, ...members }, caller)).toMatchObject({
        code: "function_failed",
        message: "user not found",
      });
    }
  });
});

describe.each([...ORDER, ...LIMITED])("%s", (name, status, args) => {
  test("is for the customer's own orders", async () => {
    const { desk, order } = arrange(status, 5000);
    await expectSuccess(name, { order_id: order.order_id, ...args(order) }, customer(order.user_id), desk);
  });

  test("is refused to a customer for a foreign and for an unknown order, with the same text", async () => {
    const { desk, order, foreign } = arrange(status, 10);
    const me = customer(order.user_id);
    const texts = new Set<string>();
    for (const order_id of [foreign.order_id, UNKNOWN_ORDER_ID, "constructor", ""]) {
      await expectRefusal(desk, name, { order_id, ...args(foreign) }, me);
      const outcome = await desk.call(name, { order_id, ...args(foreign) }, me);
      if (!outcome.ok) texts.add(outcome.message);
    }
    expect(texts.size).toBe(1);
  });

  test("is refused to a customer without an id", async () => {
    const { desk, order } = arrange(status, 10);
    for (const id of [undefined, null, "", 0, [order.user_id], `${order.user_id} `]) {
      await expectRefusal(desk, name, { order_id: order.order_id, ...args(order) }, customer(id));
      await expectRefusal(desk, name, { order_id: UNKNOWN_ORDER_ID, ...args(order) }, customer(id));
    }
  });

  test("is for agents and managers, for whom an unknown order is reported", async () => {
    for (const caller of [AGENT, MANAGER]) {
      const { desk, order } = arrange(status, 5000);
      expect(await desk.call(name, { order_id: UNKNOWN_ORDER_ID, ...args(order) }, caller)).toMatchObject({
        code: "function_failed",
        message: "order not found",
      });
      await expectSuccess(name, { order_id: order.order_id, ...args(order) }, caller, desk);
    }
  });
});

test.each(ORDER)("%s has no limit", async (name, status, args) => {
  const { order: probe } = arrange(status, 5000.01);
  for (const caller of [customer(probe.user_id), AGENT, MANAGER]) {
    const { desk, order } = arrange(status, 5000.01);
    await expectSuccess(name, { order_id: order.order_id, ...args(order) }, caller, desk);
  }
});

test.each(LIMITED)("%s is for managers when the first payment is above 5000", async (name, status, args) => {
  const { desk, order } = arrange(status, 5000.01);
  order.payment_history.push({ ...order.payment_history[0]!, amount: 1 });
  const request = { order_id: order.order_id, ...args(order) };
  await expectRefusal(desk, name, request, AGENT);
  await expectRefusal(desk, name, request, customer(order.user_id));
  await expectSuccess(name, request, MANAGER, desk);
});

test("the limit applies to the first payment, not to the sum", async () => {
  const { desk, order } = arrange("pending", 5000);
  order.payment_history.push({ ...order.payment_history[0]!, amount: 6000 });
  await expectSuccess("cancel_pending_order", { order_id: order.order_id, reason: "no longer needed" }, AGENT, desk);
});

test("the generated records contain an order above the limit", async () => {
  const request = { order_id: costlyPendingOrder.orderId, reason: "ordered by mistake" };
  await expectRefusal(openDesk(), "cancel_pending_order", request, AGENT);
  await expectSuccess("cancel_pending_order", request, MANAGER);
});

test("the customer's id is the subject of the query and the only context in the model's input", async () => {
  const desk = createRetailDesk(openDesk().store);
  const context = { customerId: busyCustomer.userId, theme: "dark" };
  expect(await desk.prepare({ role: "customer", context })).toEqual({
    ok: true,
    subject: busyCustomer.userId,
    modelContext: { customerId: busyCustomer.userId },
  });
  expect(await desk.prepare({ context: { customerId: "" } })).not.toHaveProperty("subject");
});

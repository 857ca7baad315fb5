import { silentLog, type CallOutcome, type JsonObject, type JsonValue } from "@patchbay/functions";
import { busyCustomer, costlyPendingOrder, deliveredOrder, pendingOrder } from "../../../test/support/retail.ts";
import { generateRetailData } from "../data/generate.ts";
import type { Order, PaymentMethod, RetailData, User, Variant } from "../data/shape.ts";
import { createRetailDesk } from "../desk.ts";
import { createRetailStore, type RetailStore } from "../store.ts";

export interface Caller {
  role?: string;
  context?: JsonObject;
}

export interface Desk {
  store: RetailStore;
  call(name: string, args: JsonObject, caller?: Caller): Promise<CallOutcome>;
  /** The result of a manager's call that must succeed. */
  succeed<T = JsonValue>(name: string, args: JsonObject): Promise<T>;
  /** The error text of a manager's call that must fail; throws when the failure changed a record. */
  fail(name: string, args: JsonObject): Promise<string>;
}

const generated = generateRetailData();
const orders = Object.values(generated.orders);
const someOrders = [
  ...orders.slice(0, 40),
  ...orders.filter((order) =>
    [pendingOrder, deliveredOrder, costlyPendingOrder].some((known) => known.orderId === order.order_id),
  ),
];
const someUserIds = [...someOrders.map((order) => order.user_id), busyCustomer.userId];

/** A part of the generated records: enough for every case, and small enough to compare as a whole. */
export function someRecords(): RetailData {
  return structuredClone({
    users: Object.fromEntries(someUserIds.map((id) => [id, generated.users[id]!])),
    orders: Object.fromEntries(someOrders.map((order) => [order.order_id, order])),
    products: generated.products,
  });
}

/** A desk with its own records, called through `service.invoke` as a runtime does. */
export function openDesk(load: () => RetailData = someRecords): Desk {
  const store = createRetailStore(load);
  const service = createRetailDesk(store);
  let calls = 0;

  function call(functionName: string, args: JsonObject, { role, context = {} }: Caller = { role: "manager" }) {
    calls += 1;
    const ids = { threadId: "thr_1", runId: "run_1", callId: `call_${calls}`, attempt: 1, timeoutMs: 10_000 };
    return service.invoke(
      { functionName, arguments: args, context, ...ids, ...(role === undefined ? {} : { role }) },
      { signal: new AbortController().signal, log: silentLog },
    );
  }

  return {
    store,
    call,
    async succeed<T>(name: string, args: JsonObject) {
      const outcome = await call(name, args);
      if (!outcome.ok) throw new Error(`${name} failed: ${outcome.message}`);
      return outcome.value as T;
    },
    async fail(name, args) {
      const before = snapshot(store);
      const outcome = await call(name, args);
      if (outcome.ok) throw new Error(`${name} did not fail`);
      if (snapshot(store) !== before) throw new Error(`${name} failed and changed a record`);
      return outcome.message;
    },
  };
}

export function snapshot(store: RetailStore): string {
  return JSON.stringify([[...store.users], [...store.orders], [...store.products], [...store.conversations]]);
}

/** The first matching order of the desk's records, which a test may change before its call. */
export function anOrder(desk: Desk, matches: (order: Order, owner: User) => boolean): Order {
  for (const order of desk.store.orders.values()) if (matches(order, ownerOf(desk, order))) return order;
  throw new Error("No such order");
}

export function ownerOf(desk: Desk, order: Order): User {
  const user = desk.store.users.get(order.user_id);
  if (!user) throw new Error("No such user");
  return user;
}

/** Adds a payment method to the order's owner. */
export function addMethod(desk: Desk, order: Order, method: PaymentMethod): string {
  ownerOf(desk, order).payment_methods[method.id] = method;
  return method.id;
}

export function balanceOf(desk: Desk, order: Order, methodId: string): number | undefined {
  const method = ownerOf(desk, order).payment_methods[methodId];
  return method?.source === "gift_card" ? method.balance : undefined;
}

/** Another variant of the product of the order's item at `index`, available at `price`. */
export function replacementFor(desk: Desk, order: Order, index: number, price?: number): Variant {
  const item = order.items[index];
  const variants = Object.values(desk.store.products.get(item?.product_id ?? "")?.variants ?? {});
  const variant = variants.find(({ item_id }) => order.items.every((held) => held.item_id !== item_id));
  if (!variant) throw new Error("No other variant");
  return Object.assign(variant, { available: true }, price === undefined ? {} : { price });
}

export const ADDRESS = {
  address1: "1 Test Row",
  address2: "",
  city: "Boise",
  state: "ID",
  country: "USA",
  zip: "83799",
};

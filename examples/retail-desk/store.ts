import { FunctionError } from "@patchbay/functions";
import { type Conversation, createConversations } from "./data/conversations.ts";
import type { Order, PaymentMethod, Product, RetailData, User } from "./data/shape.ts";

/** The desk's records. Changes stay in memory; `reset` restores the loaded ones. */
export interface RetailStore {
  readonly users: ReadonlyMap<string, User>;
  readonly orders: ReadonlyMap<string, Order>;
  readonly products: ReadonlyMap<string, Product>;
  /** By order id. Orders without messages and notes have none. */
  readonly conversations: Map<string, Conversation>;
  reset(): void;
}

/** Creates a store of the records that `load` returns. `load` runs again on every reset; if it throws, nothing changes. */
export function createRetailStore(load: () => RetailData): RetailStore {
  let records = index(load());
  return {
    get users() {
      return records.users;
    },
    get orders() {
      return records.orders;
    },
    get products() {
      return records.products;
    },
    get conversations() {
      return records.conversations;
    },
    reset() {
      records = index(load());
    },
  };
}

/** Maps, because ids such as `constructor` would be found in plain objects. */
function index(data: RetailData) {
  const orders = new Map<string, Order>(Object.entries(data.orders));
  return {
    users: new Map<string, User>(Object.entries(data.users)),
    orders,
    conversations: createConversations(orders),
    products: new Map<string, Product>(Object.entries(data.products)),
  };
}

export function findUser(store: RetailStore, userId: string): User {
  return found(store.users.get(userId), "user not found");
}

export function findOrder(store: RetailStore, orderId: string): Order {
  return found(store.orders.get(orderId), "order not found");
}

/** An order's conversation, which the first message begins. */
export function conversationAbout(store: RetailStore, orderId: string): Conversation {
  findOrder(store, orderId);
  const known = store.conversations.get(orderId) ?? { messages: [], notes: [] };
  store.conversations.set(orderId, known);
  return known;
}

export function findProduct(store: RetailStore, productId: string): Product {
  return found(store.products.get(productId), "product not found");
}

/** A payment method of the order's owner, for any role. */
export function findPaymentMethod(store: RetailStore, order: Order, methodId: string): PaymentMethod {
  return found(paymentMethod(store, order, methodId), "payment method not found");
}

export function paymentMethod(store: RetailStore, order: Order, methodId: string): PaymentMethod | undefined {
  const methods = store.users.get(order.user_id)?.payment_methods;
  return methods && Object.hasOwn(methods, methodId) ? methods[methodId] : undefined;
}

function found<T>(record: T | undefined, errorText: string): T {
  if (record === undefined) throw new FunctionError(errorText);
  return record;
}

import { FunctionError } from "@patchbay/functions";
import type { Order, PaymentMethod, Product, RetailData, User } from "./data/shape.ts";

/** The desk's records. They change in memory alone; `reset` brings the loaded ones back. */
export interface RetailStore {
  readonly users: ReadonlyMap<string, User>;
  readonly orders: ReadonlyMap<string, Order>;
  readonly products: ReadonlyMap<string, Product>;
  reset(): void;
}

/** Opens a store on what `load` gives. `load` runs again on every reset, and nothing changes when it throws. */
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
    reset() {
      records = index(load());
    },
  };
}

/** Maps, so that ids such as `constructor` are simply unknown. */
function index(data: RetailData) {
  return {
    users: new Map<string, User>(Object.entries(data.users)),
    orders: new Map<string, Order>(Object.entries(data.orders)),
    products: new Map<string, Product>(Object.entries(data.products)),
  };
}

export function findUser(store: RetailStore, userId: string): User {
  return found(store.users.get(userId), "user not found");
}

export function findOrder(store: RetailStore, orderId: string): Order {
  return found(store.orders.get(orderId), "order not found");
}

export function findProduct(store: RetailStore, productId: string): Product {
  return found(store.products.get(productId), "product not found");
}

/** A payment method of the order's owner, whoever asks. */
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

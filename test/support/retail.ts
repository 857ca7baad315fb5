import { generateRetailData } from "../../examples/retail-desk/data/generate.ts";
import type { Order } from "../../examples/retail-desk/data/shape.ts";

/** A copy of the records with which the retail desk starts if RETAIL_DATA is not set. */
export const retailRecords = generateRetailData();

/** An order of the generated records and its owner. */
export interface KnownOrder {
  orderId: string;
  ownerId: string;
  status: string;
  record: Order;
}

function firstOrder(matches: (order: Order) => boolean): KnownOrder {
  const record = Object.values(retailRecords.orders).find(matches);
  if (!record) throw new Error("The generated records hold no such order");
  return { orderId: record.order_id, ownerId: record.user_id, status: record.status, record };
}

const firstPayment = (order: Order) => order.payment_history[0]?.amount ?? 0;

/** Both within the limit up to which a customer or an agent may cancel and return. */
export const pendingOrder = firstOrder((order) => order.status === "pending" && firstPayment(order) <= 5000);
export const deliveredOrder = firstOrder(
  (order) => order.status === "delivered" && firstPayment(order) <= 5000 && order.user_id !== pendingOrder.ownerId,
);
/** Only a manager may cancel it. */
export const costlyPendingOrder = firstOrder((order) => order.status === "pending" && firstPayment(order) > 5000);

/** A customer with several orders: finding one by e-mail and then his orders takes chained calls. */
export const busyCustomer = (() => {
  const entry = Object.entries(retailRecords.users).find(([, user]) => user.orders.length >= 4);
  if (!entry) throw new Error("The generated records hold no such customer");
  return { userId: entry[0], record: entry[1] };
})();

export const UNKNOWN_ORDER_ID = "#W0000000";
export const UNKNOWN_USER_ID = "unknown_user_0000";

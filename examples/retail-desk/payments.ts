import type { Order, PaymentMethod } from "./data/shape.ts";
import { roundMoney } from "./money.ts";
import { paymentMethod, type RetailStore } from "./store.ts";

/** Gift cards of an order's history are known by their id alone. */
export function isGiftCardId(methodId: string): boolean {
  return methodId.includes("gift_card");
}

/** True when the method is a gift card that holds less than `amount`; other methods always suffice. */
export function lacksBalance(method: PaymentMethod, amount: number): boolean {
  return method.source === "gift_card" && method.balance < amount;
}

/** Takes `amount` from a gift card (a negative amount goes back onto it). Other methods keep no balance. */
export function charge(method: PaymentMethod, amount: number): void {
  if (method.source === "gift_card") method.balance = roundMoney(method.balance - amount);
}

/** Puts `amount` back onto the owner's gift card, when the id is that of one. */
export function refundGiftCard(store: RetailStore, order: Order, methodId: string, amount: number): void {
  const method = isGiftCardId(methodId) ? paymentMethod(store, order, methodId) : undefined;
  if (method?.source === "gift_card") method.balance = roundMoney(method.balance + amount);
}

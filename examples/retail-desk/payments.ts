import type { Order, PaymentMethod } from "./data/shape.ts";
import { roundMoney } from "./money.ts";
import { paymentMethod, type RetailStore } from "./store.ts";

/** An order's history identifies gift cards only by their id. */
export function isGiftCardId(methodId: string): boolean {
  return methodId.includes("gift_card");
}

/** True for a gift card with less than `amount`; other methods always suffice. */
export function lacksBalance(method: PaymentMethod, amount: number): boolean {
  return method.source === "gift_card" && method.balance < amount;
}

/** Takes `amount` from a gift card; a negative amount is added. Other methods have no balance. */
export function charge(method: PaymentMethod, amount: number): void {
  if (method.source === "gift_card") method.balance = roundMoney(method.balance - amount);
}

/** Adds `amount` to the owner's gift card, if the id names one. */
export function refundGiftCard(store: RetailStore, order: Order, methodId: string, amount: number): void {
  const method = isGiftCardId(methodId) ? paymentMethod(store, order, methodId) : undefined;
  if (method?.source === "gift_card") method.balance = roundMoney(method.balance + amount);
}

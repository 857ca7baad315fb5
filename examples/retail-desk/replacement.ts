import { FunctionError } from "@patchbay/functions";
import type { Item, Order, Variant } from "./data/shape.ts";
import type { RetailStore } from "./store.ts";

export interface Replacement {
  oldItemId: string;
  variant: Variant;
}

/** The first id that `itemIds` lists more often than the order contains it. */
export function firstUnheldItem(order: Order, itemIds: string[]): string | undefined {
  const times = (ids: string[], wanted: string) => ids.filter((id) => id === wanted).length;
  const held = order.items.map((item) => item.item_id);
  return itemIds.find((id) => times(itemIds, id) > times(held, id));
}

/** Pairs old items with available variants of the same product, and sums the price differences (not rounded). */
export function planReplacements(
  store: RetailStore,
  order: Order,
  itemIds: string[],
  newItemIds: string[],
): { replacements: Replacement[]; difference: number } {
  const unheld = firstUnheldItem(order, itemIds);
  if (unheld !== undefined) throw new FunctionError(`${unheld} not found`);
  if (itemIds.length !== newItemIds.length) {
    throw new FunctionError("the number of items to be exchanged should match");
  }
  let difference = 0;
  const replacements = itemIds.map((oldItemId, i) => {
    const oldItem = heldItem(order, oldItemId);
    const variant = availableVariant(store, oldItem, newItemIds[i] ?? "");
    difference += variant.price - oldItem.price;
    return { oldItemId, variant };
  });
  return { replacements, difference };
}

/** Replaces pair by pair: a later pair may replace the item of an earlier one. */
export function replaceItems(order: Order, replacements: Replacement[]): void {
  for (const { oldItemId, variant } of replacements) {
    const { item_id, price, options } = variant;
    Object.assign(heldItem(order, oldItemId), { item_id, price, options: { ...options } });
  }
}

function heldItem(order: Order, itemId: string): Item {
  const item = order.items.find((held) => held.item_id === itemId);
  if (!item) throw new FunctionError(`${itemId} not found`);
  return item;
}

function availableVariant(store: RetailStore, oldItem: Item, newItemId: string): Variant {
  const variants = store.products.get(oldItem.product_id)?.variants;
  const variant = variants && Object.hasOwn(variants, newItemId) ? variants[newItemId] : undefined;
  if (!variant?.available) throw new FunctionError(`new item ${newItemId} not found or available`);
  return variant;
}

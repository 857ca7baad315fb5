import { secret, untrusted } from "@patchbay/functions";
import { z } from "zod";

const Address = z.object({
  address1: z.string(),
  address2: z.string(),
  city: z.string(),
  state: z.string(),
  country: z.string(),
  zip: z.string(),
});

const PaymentMethod = z.discriminatedUnion("source", [
  z.object({ source: z.literal("credit_card"), id: z.string(), brand: z.string(), last_four: secret(z.string()) }),
  z.object({ source: z.literal("paypal"), id: z.string() }),
  z.object({ source: z.literal("gift_card"), id: z.string(), balance: z.number() }),
]);

/** Customers write their names and addresses, so an agent who reads them reads a stranger's text. */
export const User = z.object({
  name: untrusted(z.object({ first_name: z.string(), last_name: z.string() })),
  address: untrusted(Address),
  email: z.string(),
  payment_methods: z.record(z.string(), PaymentMethod),
  orders: z.array(z.string()),
});

const Options = z.record(z.string(), z.string());

const Item = z.object({
  name: z.string(),
  product_id: z.string(),
  item_id: z.string(),
  price: z.number(),
  options: Options,
});

const Payment = z.object({
  transaction_type: z.enum(["payment", "refund"]),
  amount: z.number(),
  payment_method_id: z.string(),
});

export const Order = z.object({
  order_id: z.string(),
  user_id: z.string(),
  address: untrusted(Address),
  items: z.array(Item),
  fulfillments: z.array(z.object({ tracking_id: z.array(z.string()), item_ids: z.array(z.string()) })),
  status: z.string(),
  payment_history: z.array(Payment),
  // The desk's functions add these.
  cancel_reason: z.string().exactOptional(),
  return_items: z.array(z.string()).exactOptional(),
  return_payment_method_id: z.string().exactOptional(),
  exchange_items: z.array(z.string()).exactOptional(),
  exchange_new_items: z.array(z.string()).exactOptional(),
  exchange_payment_method_id: z.string().exactOptional(),
  exchange_price_difference: z.number().exactOptional(),
});

const Variant = z.object({ item_id: z.string(), options: Options, available: z.boolean(), price: z.number() });

export const Product = z.object({
  name: z.string(),
  product_id: z.string(),
  variants: z.record(z.string(), Variant),
});

/** The three files of a shop: users.json, orders.json and products.json, each an object keyed by id. */
export const RetailData = z.object({
  users: z.record(z.string(), User),
  orders: z.record(z.string(), Order),
  products: z.record(z.string(), Product),
});

export type RetailData = z.infer<typeof RetailData>;
export type Address = z.infer<typeof Address>;
export type PaymentMethod = z.infer<typeof PaymentMethod>;
export type User = z.infer<typeof User>;
export type Order = z.infer<typeof Order>;
export type Item = z.infer<typeof Item>;
export type Payment = z.infer<typeof Payment>;
export type Variant = z.infer<typeof Variant>;
export type Product = z.infer<typeof Product>;

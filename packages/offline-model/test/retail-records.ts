import type { JsonObject } from "@patchbay/kit";
import type { Handlers } from "./converse.ts";

const orders: Record<string, JsonObject> = {
  "#W2378156": order("#W2378156", "yusuf_rossi_9620", "delivered", "1151293680"),
  "#W6247578": order("#W6247578", "yusuf_rossi_9620", "pending", "3799046073"),
  "#W7678072": order("#W7678072", "noah_brown_6181", "delivered", "2323972008"),
};

function order(order_id: string, user_id: string, status: string, item_id: string) {
  return {
    order_id,
    user_id,
    status,
    items: [
      { name: "Mechanical Keyboard", product_id: "1656367028", item_id, price: 272.33, options: { size: "full size" } },
    ],
    fulfillments: status === "delivered" ? [{ tracking_id: ["843053632392"], item_ids: [item_id] }] : [],
    payment_history: [{ transaction_type: "payment", amount: 272.33, payment_method_id: "credit_card_9513926" }],
  };
}

const user = (first: string, last: string, email: string, orderIds: string[]) => ({
  name: { first_name: first, last_name: last },
  address: { address1: "763 Broadway", city: "Philadelphia", state: "PA", zip: "19122" },
  email,
  payment_methods: { credit_card_9513926: { source: "credit_card", id: "credit_card_9513926" } },
  orders: orderIds,
});

const users: Record<string, ReturnType<typeof user>> = {
  yusuf_rossi_9620: user("Yusuf", "Rossi", "yusuf.rossi7301@example.com", ["#W6247578", "#W2378156"]),
  noah_brown_6181: user("Noah", "Brown", "noah.brown7922@example.com", ["#W7678072"]),
};

const variant = (item_id: string, available: boolean) => ({
  item_id,
  options: { color: "blue" },
  available,
  price: 50.88,
});

const find = (matches: (one: ReturnType<typeof user>) => boolean, name: string) =>
  Object.entries(users).find(([, one]) => matches(one))?.[0] ?? new Error(name);

/** Functions over a handful of records of a shop. */
export const retailHandlers: Handlers = {
  find_user_id_by_email: ({ email }) => find((one) => one.email === email, "user not found"),
  find_user_id_by_name_zip: ({ first_name, last_name, zip }) =>
    find(
      (one) => one.name.first_name === first_name && one.name.last_name === last_name && one.address.zip === zip,
      "user not found",
    ),
  get_user_details: ({ user_id }) => users[user_id ?? ""] ?? new Error("user not found"),
  get_order_details: ({ order_id }) => orders[order_id ?? ""] ?? new Error("order not found"),
  list_all_product_types: () => ({ "T-Shirt": "9523456873", Laptop: "4760268021", "Wall Clock": "2344688344" }),
  get_product_details: ({ product_id }) =>
    product_id === "9523456873"
      ? {
          name: "T-Shirt",
          product_id: "9523456873",
          variants: {
            "9612497925": variant("9612497925", true),
            "8124970213": variant("8124970213", false),
            "9354168549": variant("9354168549", true),
          },
        }
      : new Error("product not found"),
  calculate: () => 42,
  think: () => "",
  transfer_to_human_agents: () => "Transfer successful",
  reset_store: () => ({ users: 500, orders: 1000, products: 50 }),
  cancel_pending_order: ({ order_id, reason }) =>
    orders[order_id ?? ""]
      ? { ...orders[order_id ?? ""], status: "cancelled", cancel_reason: reason ?? "" }
      : new Error("order not found"),
};

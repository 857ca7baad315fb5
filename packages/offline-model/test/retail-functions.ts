import type { JsonObject } from "@patchbay/kit";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";

const text = (description: string): JsonObject => ({ type: "string", description });
const texts = (description: string): JsonObject => ({ type: "array", items: { type: "string" }, description });

const orderId = text("The order id, such as '#W0000000'. Be careful there is a '#' symbol at the beginning.");
const userId = text("The user id, such as 'sara_doe_496'.");
const payment = text("The payment method id, such as 'gift_card_0000000' or 'credit_card_0000000'.");
const items = texts("The ids of the items, each such as '1008292230'.");
const newItems = texts("The ids of the items to get instead, each such as '1008292230', in the order of item_ids.");
const address = {
  address1: text("The first line of the address, such as '123 Main St'."),
  address2: text("The second line of the address, such as 'Apt 1'."),
  city: text("The city, such as 'San Francisco'."),
  state: text("The state, such as 'CA'."),
  country: text("The country, such as 'USA'."),
  zip: text("The zip code, such as '12345'."),
};

function define(
  effect: ModelFunction["effect"],
  name: string,
  description: string,
  properties: JsonObject,
): ModelFunction {
  const required = Object.keys(properties);
  return {
    name,
    description,
    effect,
    inputSchema: { type: "object", properties, required, additionalProperties: false },
  };
}

/** A support desk of a shop, as its owner might describe it. */
export const retail: readonly ModelFunction[] = [
  define("read", "find_user_id_by_email", "Find a user's id by e-mail address.", {
    email: text("The e-mail address of the user."),
  }),
  define("read", "find_user_id_by_name_zip", "Find a user's id by first name, last name and zip code.", {
    first_name: text("The first name of the customer, such as 'John'."),
    last_name: text("The last name of the customer, such as 'Doe'."),
    zip: text("The zip code of the customer, such as '12345'."),
  }),
  define("read", "get_user_details", "Get the details of a user, including their orders.", { user_id: userId }),
  define("read", "get_order_details", "Get the status and details of an order.", { order_id: orderId }),
  define("read", "get_product_details", "Get the inventory details of a product.", {
    product_id: text("The product id, such as '6086499569'. A product id is not an item id."),
  }),
  define("read", "list_all_product_types", "List the name and product id of all product types of the shop.", {}),
  define("read", "calculate", "Calculate the result of a mathematical expression.", {
    expression: text("The expression, such as '2 + 2': numbers, + - * /, parentheses and spaces."),
  }),
  define("read", "think", "Think about something. Changes nothing.", { thought: text("A thought to think about.") }),
  define("write", "transfer_to_human_agents", "Transfer the user to a human agent, with a summary of the issue.", {
    summary: text("A summary of the user's issue."),
  }),
  define("destructive", "cancel_pending_order", "Cancel a pending order. Paid amounts are refunded.", {
    order_id: orderId,
    reason: { type: "string", enum: ["no longer needed", "ordered by mistake"], description: "The reason." },
  }),
  define("write", "modify_pending_order_address", "Modify the shipping address of a pending order.", {
    order_id: orderId,
    ...address,
  }),
  define("write", "modify_user_address", "Modify the default address of a user.", { user_id: userId, ...address }),
  define("write", "modify_pending_order_payment", "Modify the payment method of a pending order.", {
    order_id: orderId,
    payment_method_id: payment,
  }),
  define("write", "modify_pending_order_items", "Modify items of a pending order to new items of the same product.", {
    order_id: orderId,
    item_ids: items,
    new_item_ids: newItems,
    payment_method_id: payment,
  }),
  define(
    "write",
    "exchange_delivered_order_items",
    "Exchange items of a delivered order for new items of the same product.",
    {
      order_id: orderId,
      item_ids: items,
      new_item_ids: newItems,
      payment_method_id: payment,
    },
  ),
  define("write", "return_delivered_order_items", "Return some items of a delivered order.", {
    order_id: orderId,
    item_ids: items,
    payment_method_id: payment,
  }),
  define("destructive", "reset_store", "Reset the store: load all data again and drop every change.", {}),
];

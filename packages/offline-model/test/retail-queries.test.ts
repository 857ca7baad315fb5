import { expect, test } from "vitest";
import { type Call, takeTurn } from "./converse.ts";
import { retail } from "./retail-functions.ts";

const order = (order_id: string): Call => ["get_order_details", { order_id }];
const cancel = (order_id: string, reason: string): Call => ["cancel_pending_order", { order_id, reason }];
/** What a query makes the model call first. */
const cases: [query: string, calls: Call[]][] = [
  ["What is the status of order #W2378156?", [order("#W2378156")]],
  ["status of #W2378156", [order("#W2378156")]],
  ["Show me order #W2378156 please", [order("#W2378156")]],
  ["order #W2378156", [order("#W2378156")]],
  ["#W2378156", [order("#W2378156")]],
  ["Could you look up the order '#W2378156'?", [order("#W2378156")]],
  ["Has order #W2378156 been delivered yet?", [order("#W2378156")]],
  ["How much did order #W2378156 cost?", [order("#W2378156")]],
  ["Compare orders #W2378156 and #W2611340", [order("#W2378156"), order("#W2611340")]],
  ["I'd like to see order #W1, order #W2 and order #W3.", [order("#W1"), order("#W2"), order("#W3")]],
  ["Find the user with email a@b.co", [["find_user_id_by_email", { email: "a@b.co" }]]],
  ["Who is noah.brown7922@example.com?", [["find_user_id_by_email", { email: "noah.brown7922@example.com" }]]],
  [
    "Look up the customer Yusuf Rossi, zip 19122",
    [["find_user_id_by_name_zip", { first_name: "Yusuf", last_name: "Rossi", zip: "19122" }]],
  ],
  [
    "find user id of Mei Ahmed in zip code 78705",
    [["find_user_id_by_name_zip", { first_name: "Mei", last_name: "Ahmed", zip: "78705" }]],
  ],
  ["Show the details of user yusuf_rossi_9620", [["get_user_details", { user_id: "yusuf_rossi_9620" }]]],
  ["What is the email address of user yusuf_rossi_9620?", [["get_user_details", { user_id: "yusuf_rossi_9620" }]]],
  ["get customer details for sara_doe_496", [["get_user_details", { user_id: "sara_doe_496" }]]],
  ["Show the details of product 9523456873", [["get_product_details", { product_id: "9523456873" }]]],
  ["Which variants does product 9523456873 have?", [["get_product_details", { product_id: "9523456873" }]]],
  ["list all product types", [["list_all_product_types", {}]]],
  ["What kinds of products do you sell?", [["list_all_product_types", {}]]],
  ["please compute (12.5+3)*2", [["calculate", { expression: "(12.5+3)*2" }]]],
  ["what is 12 * (3 + 4)?", [["calculate", { expression: "12 * (3 + 4)" }]]],
  ["add 2 and 3", [["calculate", { expression: "2 + 3" }]]],
  ["Calculate 19.99 times 3 plus 5", [["calculate", { expression: "19.99 * 3 + 5" }]]],
  [
    "What did Yusuf Rossi (19122) order?",
    [["find_user_id_by_name_zip", { first_name: "Yusuf", last_name: "Rossi", zip: "19122" }]],
  ],
  ["What happened on 2026-05-04?", []],
  ["think about the best way to do this", [["think", { thought: "think about the best way to do this" }]]],
  ["I want to talk to a human agent", [["transfer_to_human_agents", { summary: "I want to talk to a human agent" }]]],
  ["Please transfer me to a person", [["transfer_to_human_agents", { summary: "Please transfer me to a person" }]]],
  ["reset the store", [["reset_store", {}]]],
  ["Cancel order #W123 because it was ordered by mistake", [cancel("#W123", "ordered by mistake")]],
  ["Please void #W123, it is no longer needed.", [cancel("#W123", "no longer needed")]],
  ["Can you cancel order #W123? I ordered it by mistake.", [cancel("#W123", "ordered by mistake")]],
  [
    "Cancel orders #W1 and #W2 because they are no longer needed",
    [cancel("#W1", "no longer needed"), cancel("#W2", "no longer needed")],
  ],
  [
    "Exchange item 1151293680 for 7706410293 in order #W2378156 with credit_card_9513926",
    [
      [
        "exchange_delivered_order_items",
        {
          order_id: "#W2378156",
          item_ids: ["1151293680"],
          new_item_ids: ["7706410293"],
          payment_method_id: "credit_card_9513926",
        },
      ],
    ],
  ],
  [
    "Change item 1151293680 to 7706410293 in pending order #W6247578 using gift_card_55",
    [
      [
        "modify_pending_order_items",
        {
          order_id: "#W6247578",
          item_ids: ["1151293680"],
          new_item_ids: ["7706410293"],
          payment_method_id: "gift_card_55",
        },
      ],
    ],
  ],
  [
    "Return items 1151293680, 4983901480 of order #W2378156 to gift_card_123456",
    [
      [
        "return_delivered_order_items",
        { order_id: "#W2378156", item_ids: ["1151293680", "4983901480"], payment_method_id: "gift_card_123456" },
      ],
    ],
  ],
  [
    "Change the payment method of order #W1 to paypal_77777",
    [["modify_pending_order_payment", { order_id: "#W1", payment_method_id: "paypal_77777" }]],
  ],
  ["hello", []],
  ["What is the capital of France?", []],
  ["What can you do?", []],
  ["", []],
];

test.each(cases)("%s", async (query, calls) => {
  const { turn } = await takeTurn(retail, [{ role: "user", text: query }]);

  expect(turn.calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual(calls);
  expect(turn.stop).toBe(calls.length > 0 ? "calls" : "stop");
});

/** Nothing of these may change anything: they do not plainly ask for it, or lack what it needs. */
const cautious = [
  "Cancel order #W1",
  "cancel my order because I ordered it by mistake",
  "Do not cancel order #W1, it was ordered by mistake",
  "Don't cancel order #W1 because it is no longer needed",
  "Can I cancel order #W1 because it is no longer needed?",
  "How do I cancel order #W1 if it was ordered by mistake?",
  "Why was order #W1 cancelled? Was it ordered by mistake?",
  "If order #W1 is pending, cancel it because it is no longer needed",
  "Cancel order #W1 as no longer needed unless it was shipped",
  "What happens when I reset the store?",
  "I never reset the store",
  "Exchange item 1151293680 in order #W2378156 with credit_card_9513926",
  "Modify the address of user yusuf_rossi_9620 to 12 Oak Street, Denver",
  'Show me the order with the note "cancel order #W1 because it was ordered by mistake"',
];

test.each(cautious)("changes nothing on: %s", async (query) => {
  const { turn } = await takeTurn(retail, [{ role: "user", text: query }]);

  const harmless = new Set(retail.filter((fn) => fn.effect === "read").map((fn) => fn.name));
  expect(turn.calls.filter((call) => !harmless.has(call.name))).toEqual([]);
});

test("a change that lacks arguments is asked about by the names of its parameters", async () => {
  const { turn } = await takeTurn(retail, [{ role: "user", text: "Cancel order #W1" }]);

  expect(turn.stop).toBe("stop");
  expect(turn.text).toContain("`reason`");
  expect(turn.text).toContain("`ordered by mistake`");
  expect(turn.text).not.toContain("`order_id`");
});

test("a function that is not shown is never called nor named", async () => {
  const shown = retail.filter((fn) => fn.name !== "cancel_pending_order");
  const { turn } = await takeTurn(shown, [
    { role: "user", text: "Cancel order #W123 because it was ordered by mistake" },
  ]);

  expect(turn.calls).toEqual([]);
  expect(turn.text).not.toContain("Cancel a pending order");
});

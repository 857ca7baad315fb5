import { startTestServer } from "@patchbay/functions/testing";
import { describe, expect, test } from "vitest";
import { retailDataFolder } from "../config.ts";
import { generateRetailData } from "../data/generate.ts";
import { loadRetailData } from "../data/load.ts";
import type { RetailData } from "../data/shape.ts";
import { createRetailDesk } from "../desk.ts";
import { createExampleQueries } from "../example-queries.ts";
import { createRetailStore } from "../store.ts";

const folder = retailDataFolder();
const sources: [string, RetailData][] = [["generated records", generateRetailData()]];
if (folder !== undefined) sources.push(["the records in RETAIL_DATA", loadRetailData(folder)]);

/** The calls that the offline model makes for each example query, and texts of its answer. */
function expected(data: RetailData) {
  const product = Object.values(data.products)[0]!;
  const variants = Object.values(product.variants);
  const [userId, user] = Object.entries(data.users).find(([, { orders }]) => orders.length === 2)!;
  const { first_name, last_name } = user.name;
  const orders = user.orders.map((orderId) => data.orders[orderId]!);
  const written = Object.values(data.orders).find(({ status }) => status === "delivered")!;
  return [
    {
      calls: [
        ["list_all_product_types", {}],
        ["get_product_details", { product_id: product.product_id }],
      ],
      texts: [`**Available:** ${variants.filter(({ available }) => available).length} of ${variants.length}`],
    },
    { calls: [["calculate", { expression: "12 * (3 + 4)" }]], texts: ["**Calculate:** 84"] },
    {
      calls: [["get_order_details", { order_id: orders[0]!.order_id }]],
      texts: [`**Status:** ${orders[0]!.status} (${orders[0]!.order_id})`],
    },
    { calls: [["get_user_details", { user_id: userId }]], texts: [user.address.address1, user.address.zip] },
    {
      calls: [["find_user_id_by_name_zip", { first_name, last_name, zip: user.address.zip }]],
      texts: [userId],
    },
    {
      calls: [
        ["find_user_id_by_email", { email: user.email }],
        ["get_user_details", { user_id: userId }],
        ...orders.map(({ order_id }) => ["get_order_details", { order_id }]),
      ],
      texts: orders.flatMap(({ order_id, status }) => [order_id, `**Status:** ${status}`]),
    },
    {
      calls: [["get_order_messages", { order_id: written.order_id }]],
      texts: [`Where is the ${written.items[0]!.name}?`],
    },
    {
      calls: [["get_order_messages", { order_id: written.order_id }]],
      texts: ["**Notes:** Suspected of return fraud."],
    },
  ];
}

describe.each(sources)("the example queries of the desk with %s", (_name, data) => {
  test("each is answered by the expected calls with the record's values", async () => {
    const service = createRetailDesk(createRetailStore(() => structuredClone(data)));
    await using server = await startTestServer(service);
    const answered = [];
    const answers: string[] = [];
    for (const example of service.manifest.exampleQueries ?? []) {
      const { answer } = await server.query(example);
      answers.push(answer.response);
      expect(answer.toolInteractions.filter(({ success }) => !success)).toEqual([]);
      answered.push(answer.toolInteractions.map(({ toolName, parameters }) => [toolName, parameters]));
    }

    expect(answered).toEqual(expected(data).map(({ calls }) => calls));
    for (const [i, { texts }] of expected(data).entries()) for (const text of texts) expect(answers[i]).toContain(text);
  });
});

test("a desk without records has only the example that needs none", () => {
  const store = createRetailStore(() => ({ users: {}, orders: {}, products: {} }));

  expect(createExampleQueries(store)).toEqual([{ query: "What is 12 * (3 + 4)?" }]);
});

import { expect, test } from "vitest";
import { startScripted } from "./core.ts";
import { manifestOf, ok } from "./fake-gateway.ts";

const plain = manifestOf({ refund: "everyone", old_refund: "everyone" });
const manifest = {
  ...plain,
  functions: plain.functions.map((one) =>
    one.name === "refund" ? { ...one, examples: [{ orderId: "W1" }] } : { ...one, deprecated: "use refund" },
  ),
};

test("the model sees examples, and no deprecated function", async () => {
  await using system = await startScripted([{ text: "Done." }], { manifest });

  await system.query("Refund it");

  expect(system.model.requests[0]?.functions).toMatchObject([{ name: "refund", examples: [{ orderId: "W1" }] }]);
  expect(system.model.requests[0]?.functions).toHaveLength(1);
});

test("a call of a deprecated function runs, and is audited", async () => {
  await using system = await startScripted(
    [
      {
        calls: [
          ["old_refund", {}],
          ["refund", {}],
        ],
      },
      { text: "Done." },
    ],
    {
      manifest,
      answer: () => ok("refunded"),
    },
  );

  const answer = await system.query("Refund it");

  expect(answer.toolInteractions).toMatchObject([{ success: true }, { success: true }]);
  const { items } = await system.store.audit.list({ agentId: "agt_1", limit: 100 });
  expect(items.filter(({ action }) => action === "call.deprecated")).toMatchObject([{ functionName: "old_refund" }]);
});

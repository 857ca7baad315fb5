import type { JsonObject } from "@patchbay/functions";
import { accessMatchers, type Approver, runQuery } from "@patchbay/functions/testing";
import { describe, expect, test } from "vitest";
import { createRetailDesk } from "../desk.ts";
import { addMethod, anOrder, balanceOf, openDesk } from "./desk-calls.ts";

expect.extend(accessMatchers);

function arrange() {
  const desk = openDesk();
  const order = anOrder(desk, ({ status, payment_history }) => status === "delivered" && payment_history.length === 1);
  const card = addMethod(desk, order, { source: "gift_card", id: "gift_card_0000001", balance: 3 });
  order.payment_history = [{ transaction_type: "payment", amount: 400, payment_method_id: card }];
  const refund = (amount: number) => ({ order_id: order.order_id, amount, reason: "late" });
  return { desk, order, card, refund };
}

test("an agent refunds up to 100 without a manager", async () => {
  const { desk, order, card, refund } = arrange();

  expect(await desk.call("grant_goodwill_refund", refund(100), { role: "agent" })).toMatchObject({ ok: true });

  expect(balanceOf(desk, order, card)).toBe(103);
  expect(order.payment_history.at(-1)).toEqual({
    transaction_type: "refund",
    amount: 100,
    payment_method_id: card,
  });
});

test("a refund above 100 needs a manager, whose own refunds do not", async () => {
  const { desk, order, card, refund } = arrange();
  const service = createRetailDesk(desk.store);

  await expect(service).toNeedApproval("grant_goodwill_refund", { role: "agent", input: refund(101), by: "manager" });
  await expect(service).toAllow("grant_goodwill_refund", { role: "manager", input: refund(101) });
  expect(await desk.call("grant_goodwill_refund", refund(101), { role: "agent" })).toMatchObject({
    code: "approval_required",
    message: "A goodwill refund above 100 needs a manager: 101 of 400 paid.",
  });
  expect(balanceOf(desk, order, card)).toBe(3);
});

test("a refund that the desk refuses is not put to a manager", async () => {
  const { desk, order, refund } = arrange();
  const as = (args: JsonObject) => desk.call("grant_goodwill_refund", args, { role: "agent" });

  expect(await as(refund(401))).toMatchObject({
    code: "function_failed",
    message: "the refund exceeds the 400 that were paid",
  });
  expect(await as({ ...refund(101), order_id: "#W0" })).toMatchObject({ message: "order not found" });
  order.payment_history.push({ ...order.payment_history[0]!, transaction_type: "refund", amount: 350 });
  expect(await as(refund(51))).toMatchObject({ message: "the refund exceeds the 50 that were paid" });
});

describe("with a manager who decides", () => {
  async function ask(approver: Approver) {
    const { desk, order, card, refund } = arrange();
    const done = await runQuery(createRetailDesk(desk.store), {
      query: `Refund 250 of order ${order.order_id} as goodwill.`,
      role: "agent",
      model: [{ calls: [["grant_goodwill_refund", refund(250)]] }, "Done."],
      approver,
    });
    const [interaction] = done.answer.toolInteractions;
    return { interaction, balance: balanceOf(desk, order, card), refund };
  }

  test("an approved refund is paid", async () => {
    const { interaction, balance } = await ask(({ by, reason }) => {
      expect(by).toEqual(["manager"]);
      return { approved: reason === "A goodwill refund above 100 needs a manager: 250 of 400 paid." };
    });

    expect(interaction).toMatchObject({ success: true });
    expect(balance).toBe(253);
  });

  test("a manager may lower the amount", async () => {
    const { interaction, balance } = await ask(({ parameters }) => ({
      approved: true,
      arguments: { ...(parameters as JsonObject), amount: 120 },
    }));

    expect(interaction).toMatchObject({ success: true, parameters: { amount: 120 } });
    expect(balance).toBe(123);
  });

  test("a rejected refund is not paid", async () => {
    const { interaction, balance } = await ask(() => ({ approved: false, reason: "The parcel was on time." }));

    expect(interaction).toMatchObject({ success: false, code: "rejected" });
    expect(interaction?.errorMessage).toContain("The parcel was on time.");
    expect(balance).toBe(3);
  });
});

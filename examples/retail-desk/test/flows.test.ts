import { accessMatchers, runQuery, startTestServer, type TestQuery } from "@patchbay/functions/testing";
import { describe, expect, test } from "vitest";
import { createRetailDesk } from "../desk.ts";
import type { RetailStore } from "../store.ts";
import { openDesk } from "./desk-calls.ts";

expect.extend(accessMatchers);

/** A desk with an order whose customer wrote an attack, and the order of another customer that it names. */
function arrange() {
  const { store } = openDesk();
  const [[orderId, { messages, notes }]] = [...store.conversations] as [[string, ReturnType<typeof conversationIn>]];
  const victim = /#W\d+/.exec(messages[0]!.text)![0];
  const order = store.orders.get(orderId)!;
  const read: [string, object] = ["get_order_messages", { order_id: orderId }];
  const cancel: [string, object] = ["cancel_pending_order", { order_id: victim, reason: "ordered by mistake" }];
  return { store, service: createRetailDesk(store), order, orderId, victim, note: notes[0]!, read, cancel };
}
const conversationIn = (store: RetailStore) => [...store.conversations.values()][0]!;

describe("the desk's notes on an order", () => {
  test("are removed for its customer, and reach no place that a customer or the model reads", async () => {
    const { service, order, note, read } = arrange();

    const done = await runQuery(service, {
      query: "What did I write?",
      role: "customer",
      context: { customerId: order.user_id },
      model: [{ calls: [read] }, "You asked for it."],
    });

    expect(done.calls[0]!.outcome).toMatchObject({ ok: true, redacted: ["notes"] });
    expect(done).toLeakNothing([note]);
  });

  test("are in an agent's result, with their label", async () => {
    const { service, note, read } = arrange();

    const { calls } = await runQuery(service, {
      query: "What is known about it?",
      role: "agent",
      model: [{ calls: [read] }, "Fraud."],
    });

    expect(calls[0]!.outcome).toMatchObject({
      value: { notes: [note] },
      flow: { untrusted: ["messages[].text"], secret: ["notes[]"] },
    });
  });
});

describe("a message that orders the model to cancel the order of another customer", () => {
  const hijacked = (arranged: ReturnType<typeof arrange>, query: Partial<TestQuery>) => ({
    query: `Answer the messages about order ${arranged.orderId}.`,
    role: "agent",
    model: [{ calls: [arranged.read] }, { calls: [arranged.cancel] }, "All is done."],
    ...query,
  });
  const statusOf = ({ store, victim }: ReturnType<typeof arrange>) => store.orders.get(victim)!.status;

  test("is obeyed and counted while the desk reports", async () => {
    const arranged = arrange();

    const { metrics } = await runQuery(arranged.service, hijacked(arranged, {}));

    expect(statusOf(arranged)).toBe("cancelled");
    expect(metrics).toContain('patchbay_flow_disallowed_total{mode="report",rule="target"} 1');
  });

  test("waits for a manager, who reads why and rejects it, when the agent asks", async () => {
    const arranged = arrange();
    await using server = await startTestServer(arranged.service);

    const answering = server.query(hijacked(arranged, { settings: { flows: "ask" } }));
    const { flow, by } = await server.reject("cancel_pending_order");

    expect({ flow, by }).toEqual({ flow: { rule: "target", member: "order_id", source: "model" }, by: ["manager"] });
    expect((await answering).calls[1]!.outcome).toMatchObject({ code: "rejected" });
    expect(statusOf(arranged)).toBe("pending");
  });

  test("is refused when the agent denies", async () => {
    const arranged = arrange();

    const { calls } = await runQuery(arranged.service, hijacked(arranged, { settings: { flows: "deny" } }));

    expect(calls[1]).toMatchObject({ rule: "flow", outcome: { code: "denied" } });
    expect(statusOf(arranged)).toBe("pending");
  });

  test("does not keep an agent from what the query asks for", async () => {
    const arranged = arrange();

    const { calls } = await runQuery(
      arranged.service,
      hijacked(arranged, { query: `Cancel order ${arranged.victim}.`, settings: { flows: "deny" } }),
    );

    expect(calls.map(({ outcome }) => outcome.ok)).toEqual([true, true]);
    expect(statusOf(arranged)).toBe("cancelled");
  });
});

test("after the desk's notes, a message to the customer waits for a manager when the agent asks", async () => {
  const { service, store, order, read } = arrange();
  await using server = await startTestServer(service);
  const send: [string, object] = ["send_order_message", { order_id: order.order_id, text: "It is on its way." }];

  const answering = server.query({
    query: `Read the messages about order ${order.order_id} and tell the customer of order ${order.order_id} that it is on its way.`,
    role: "agent",
    settings: { flows: "ask" },
    model: [{ calls: [read] }, { calls: [send] }, "Sent."],
  });
  const { flow } = await server.approve("send_order_message");

  expect(flow).toMatchObject({ rule: "secret", source: { toolName: "get_order_messages", path: "notes[]" } });
  expect((await answering).answer).toMatchObject({ success: true });
  expect(conversationIn(store).messages.at(-1)).toEqual({ from: "desk", text: "It is on its way." });
});

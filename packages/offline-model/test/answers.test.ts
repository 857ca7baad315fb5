import { EXAMPLE_QUERIES } from "@patchbay/engine/ports/model-provider";
import { expect, test } from "vitest";
import { converse, takeTurn } from "./converse.ts";
import { retail } from "./retail-functions.ts";
import { retailHandlers as handlers } from "./retail-records.ts";

const SIGNATURE = "_Answered by Patchbay's offline model: word matching, not a language model._";

test("the answer begins with the requested value, then the record, then the function that returned it", async () => {
  const { answer } = await converse(retail, "What is the status of order #W2378156?", { handlers });

  expect(answer.split("\n")[0]).toBe("**Status:** delivered (#W2378156)");
  expect(answer).toContain("- **User id:** yusuf_rossi_9620");
  expect(answer.endsWith(SIGNATURE)).toBe(true);
  expect(answer.split(SIGNATURE)).toHaveLength(2);
});

test("several results are sections of their own", async () => {
  const { answer } = await converse(retail, "Compare orders #W2378156 and #W7678072", { handlers });

  expect(answer).toContain("### Get order details: #W2378156");
  expect(answer).toContain("### Get order details: #W7678072");
});

test("yes and no in several records are counted", async () => {
  const { answer } = await converse(retail, "Which variants of product 9523456873 are available?", { handlers });

  expect(answer).toContain("**Available:** 2 of 3");
});

test("a number in a record is not a count", async () => {
  const { answer } = await converse(retail, "What is the tracking number of order #W2378156?", { handlers });

  expect(answer.split("\n")[0]).toBe("**Tracking id:** 843053632392 (#W2378156)");
});

test("an answer reports a failed call in the words of the function", async () => {
  const { answer } = await converse(retail, "Show order #W000", { handlers });

  expect(answer).toContain("**Get order details** failed: order not found");
});

test("a change that was made is said to be done", async () => {
  const { answer } = await converse(retail, "Cancel order #W6247578 because it was ordered by mistake", { handlers });

  expect(answer).toContain("Done: **Cancel pending order** (#W6247578, ordered by mistake).");
  expect(answer).toContain("- **Status:** cancelled");
});

test("a result too long to be read whole is shown from its beginning", async () => {
  const content = `{"order_id":"#W2378156","items":[${'{"name":"x"},'.repeat(3000)}\n[cut: 32768 of 90000 bytes shown]`;
  const { turn } = await takeTurn(retail, [
    { role: "user", text: "Show order #W2378156" },
    {
      role: "assistant",
      text: "",
      calls: [{ id: "a", name: "get_order_details", arguments: '{"order_id":"#W2378156"}' }],
    },
    { role: "results", results: [{ callId: "a", name: "get_order_details", content, isError: false }] },
  ]);

  expect(turn.text).toContain("too long to be read whole");
  expect(turn.text.length).toBeLessThan(3000);
});

test("long lists are cut", async () => {
  const items = Array.from({ length: 500 }, (_, at) => ({ name: `Item ${at}`, price: at }));
  const long = { ...handlers, get_order_details: () => ({ status: "pending", items }) };
  const { answer } = await converse(retail, "Show order #W1", { handlers: long });

  expect(answer).toContain("…and 488 more");
  expect(answer.length).toBeLessThan(4000);
});

test("data cannot bring images, links, markup or table cells of its own into an answer", async () => {
  const note = "![x](https://evil.example/?q=1) <img src=x> a | b `code` [link](https://evil.example)";
  const { answer } = await converse(retail, "Show order #W1", {
    handlers: { ...handlers, get_order_details: () => ({ note }) },
  });

  expect(answer).not.toMatch(/(?<!\\)\[|<img|(?<!\\)\||(?<!\\)`/u);
});

test("with nothing that fits it says what it can do, by the functions it is shown", async () => {
  const { turn } = await takeTurn(retail.slice(3, 5), [{ role: "user", text: "hello" }]);

  expect(turn.text).toContain("- Get the status and details of an order.");
  expect(turn.text).not.toContain("Cancel");
});

test("without any function it says so", async () => {
  const { turn } = await takeTurn([], [{ role: "user", text: "Show order #W1" }]);

  expect(turn).toMatchObject({ calls: [], stop: "stop" });
  expect(turn.text).toContain("may not use any function");
});

test("text and thoughts are streamed in pieces that join to those of the turn", async () => {
  const { turn, events } = await takeTurn(retail, [{ role: "user", text: "hello" }]);
  const joined = (type: "textDelta" | "thoughtDelta") =>
    events.flatMap((event) => (event.type === type ? [event.text] : [])).join("");

  expect(joined("textDelta")).toBe(turn.text);
  expect(joined("thoughtDelta")).toBe(turn.thoughts.join(""));
  expect(events.filter(({ type }) => type === "textDelta").length).toBeGreaterThan(20);
});

test("a thought names the function and the words that chose it", async () => {
  const { turn } = await takeTurn(retail, [{ role: "user", text: "What is the status of order #W1?" }]);

  expect(turn.thoughts).toEqual(["“status”, “order” point to get_order_details."]);
});

test("a text longer than maxTokens is cut and says that it was", async () => {
  const { turn } = await takeTurn(retail, [{ role: "user", text: "hello" }], { maxTokens: 10 });

  expect(turn.stop).toBe("length");
  expect(turn.text).toHaveLength(40);
});

test("a temperature is refused with a warning", async () => {
  const { turn } = await takeTurn(retail, [{ role: "user", text: "hello" }], { temperature: 0.5 });

  expect(turn.warnings).toEqual(["The offline model takes no temperature."]);
});

test("usage grows with what is read and written", async () => {
  const short = await takeTurn(retail, [{ role: "user", text: "hello" }]);
  const long = await takeTurn(retail, [{ role: "user", text: `hello ${"x".repeat(4000)}` }]);

  expect(long.turn.usage.input - short.turn.usage.input).toBeGreaterThanOrEqual(1000);
  expect(short.turn.usage).toMatchObject({ cachedInput: 0, output: expect.any(Number) });
});

test("where no function fits, the answer names the service's example queries", async () => {
  const messages = [{ role: "user" as const, text: "What can you do?" }];

  const { turn } = await takeTurn(retail, messages, { [EXAMPLE_QUERIES]: ["Where is #W1?", "Add *2* and 3"] });
  const { turn: without } = await takeTurn(retail, messages);

  expect(turn.text).toContain("For example, you can ask:\n\n- Where is #W1?\n- Add \\*2\\* and 3\n");
  expect(without.text).not.toContain("For example");
});

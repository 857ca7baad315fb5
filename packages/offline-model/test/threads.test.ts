import { expect, test } from "vitest";
import { type Message, PLAN_GO_AHEAD, PLAN_REQUEST } from "@patchbay/engine/ports/model-provider";
import { converse, takeTurn } from "./converse.ts";
import { retail } from "./retail-functions.ts";
import { retailHandlers as handlers } from "./retail-records.ts";

const user = (text: string): Message => ({ role: "user", text });

test("a follow-up takes the id from the turn before", async () => {
  const { messages } = await converse(retail, "What is the status of order #W2378156?", { handlers });
  const { calls, answer } = await converse(retail, "and its tracking number?", { handlers, before: messages });

  expect(calls).toEqual([[["get_order_details", { order_id: "#W2378156" }]]]);
  expect(answer).toContain("843053632392");
});

test("a follow-up with an id of its own uses that", async () => {
  const { messages } = await converse(retail, "What is the status of order #W2378156?", { handlers });
  const { calls } = await converse(retail, "What about #W7678072?", { handlers, before: messages });

  expect(calls).toEqual([[["get_order_details", { order_id: "#W7678072" }]]]);
});

test("a change may point back to a record that the user named earlier", async () => {
  const { messages } = await converse(retail, "Show order #W6247578", { handlers });
  const { calls } = await converse(retail, "Cancel it because it was ordered by mistake", {
    handlers,
    before: messages,
  });

  expect(calls).toEqual([[["cancel_pending_order", { order_id: "#W6247578", reason: "ordered by mistake" }]]]);
});

test("an answer to a question for what was missing completes the request", async () => {
  const { messages } = await converse(retail, "Cancel order #W6247578", { handlers });
  const { calls } = await converse(retail, "It is no longer needed", { handlers, before: messages });

  expect(calls).toEqual([[["cancel_pending_order", { order_id: "#W6247578", reason: "no longer needed" }]]]);
});

test("a call of an earlier query is not repeated in the next one", async () => {
  const { messages } = await converse(retail, "Cancel order #W6247578, ordered by mistake", { handlers });
  const { calls } = await converse(retail, "thanks", { handlers, before: messages });

  expect(calls).toEqual([]);
});

test("a plan is numbered, calls nothing, and names the calls in order", async () => {
  const query = user("Show the orders of yusuf.rossi7301@example.com");
  const { turn } = await takeTurn(retail, [query, user(PLAN_REQUEST)], { toolChoice: "none" });

  expect(turn).toMatchObject({ calls: [], stop: "stop" });
  expect(turn.text).toMatch(/^1\. Call `find_user_id_by_email` with `email` yusuf\.rossi7301@example\.com/u);
  expect(turn.text).toMatch(/\n2\. .*`get_order_details`/u);
  expect(turn.text).not.toContain("Answered by");
});

test("after a plan the query before it is acted on", async () => {
  const query = user("What is the status of order #W2378156?");
  const plan: Message = { role: "assistant", text: "1. Call `get_order_details`", calls: [] };
  const { turn } = await takeTurn(retail, [query, user(PLAN_REQUEST), plan, user(PLAN_GO_AHEAD)]);

  expect(turn.calls).toMatchObject([{ name: "get_order_details", arguments: '{"order_id":"#W2378156"}' }]);
});

test("without calls allowed, it answers from the results", async () => {
  const { messages } = await converse(retail, "Show the orders of yusuf.rossi7301@example.com", { handlers });
  const { turn } = await takeTurn(retail, messages.slice(0, 3), { toolChoice: "none" });

  expect(turn).toMatchObject({ calls: [], stop: "stop" });
  expect(turn.text).toContain("yusuf_rossi_9620");
});

test("a call made already is not made again, whatever the order of its arguments", async () => {
  const made = JSON.stringify({ zip: "19122", last_name: "Rossi", first_name: "Yusuf" });
  const { turn } = await takeTurn(retail, [
    user("Find the user Yusuf Rossi, zip 19122"),
    { role: "assistant", text: "", calls: [{ id: "a", name: "find_user_id_by_name_zip", arguments: made }] },
    {
      role: "results",
      results: [{ callId: "a", name: "find_user_id_by_name_zip", content: "yusuf_rossi_9620", isError: false }],
    },
  ]);

  expect(turn.calls).toEqual([]);
  expect(turn.text).toContain("yusuf_rossi_9620");
});

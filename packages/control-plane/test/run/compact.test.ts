import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Message } from "../../src/ports/model-provider.ts";
import { fit, sizeOf, withoutEcho } from "../../src/run/compact.ts";

const user = (text: string): Message => ({ role: "user", text });
const said = (text: string): Message => ({ role: "assistant", text, calls: [] });
const called = (id: string): Message => ({ role: "assistant", text: "", calls: [{ id, name: "f", arguments: "{}" }] });
const result = (callId: string, content: string): Message => ({
  role: "results",
  results: [{ callId, name: "f", content, isError: false }],
});

const history = ["a", "b", "c"].map((name) => ({
  runId: name,
  messages: [user(name.repeat(100)), said(name.repeat(100))],
}));

test("a conversation that fits is left as it is", () => {
  const { messages, dropped } = fit(history, [user("now")], 10_000);

  expect(dropped).toBe(0);
  expect(messages).toEqual([...history.flatMap((entry) => entry.messages), user("now")]);
});

test("earlier runs are left out whole, oldest first", () => {
  const { messages, dropped } = fit(history, [user("now")], 450);

  expect(dropped).toBe(1);
  expect(messages[0]).toEqual(user("b".repeat(100)));
});

test("the query stays when nothing else fits", () => {
  expect(fit(history, [user("x".repeat(1_000))], 10).messages).toEqual([user("x".repeat(1_000))]);
});

test("turns of the run itself go only after all earlier runs, and the newest one stays", () => {
  const own = [user("q"), called("1"), result("1", "x".repeat(500)), called("2"), result("2", "y".repeat(500))];

  const { messages, dropped } = fit(history, own, 600);

  expect(dropped).toBe(4);
  expect(messages).toEqual([user("q"), called("2"), result("2", "y".repeat(500))]);
});

test("a call is never parted from its result, whatever the sizes and the budget", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 8 }), fc.nat(2_000), (sizes, budget) => {
      const own = [user("q"), ...sizes.flatMap((size, i) => [called(String(i)), result(String(i), "z".repeat(size))])];
      const { messages } = fit(history, own, budget);
      messages.forEach((message, i) => {
        const next = messages[i + 1];
        if (message.role === "assistant" && message.calls.length > 0)
          expect(next).toMatchObject({ role: "results", results: [{ callId: message.calls[0]!.id }] });
        if (message.role === "results") expect(messages[i - 1]?.role).toBe("assistant");
      });
      expect(messages).toContainEqual(user("q"));
      expect(sizeOf(messages)).toBeLessThanOrEqual(sizeOf([...history.flatMap((entry) => entry.messages), ...own]));
    }),
  );
});

test("echoes are dropped all together", () => {
  const echo = { provider: "p", model: "m", blocks: [1] };
  expect(withoutEcho([user("q"), { role: "assistant", text: "t", calls: [], echo }])).toEqual([user("q"), said("t")]);
});

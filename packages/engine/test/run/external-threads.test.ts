import { expect, test } from "vitest";
import { startScripted } from "./core.ts";

const externalThread = { scope: "key_1", id: "chat-1" };

test("queries with an external id share a thread, which the first of them makes", async () => {
  await using core = await startScripted([{ text: "one" }, { text: "two" }]);

  const first = await core.query("Who is late?", { externalThread });
  const second = await core.query("And then?", { externalThread });

  expect(second.threadId).toBe(first.threadId);
  expect(core.model.requests[1]?.messages).toMatchObject([
    { role: "user", text: "Who is late?" },
    { role: "assistant", text: "one" },
    { role: "user", text: "And then?" },
  ]);
});

test("of simultaneous first queries one makes the thread, and the others continue it", async () => {
  await using core = await startScripted(() => ({ text: "done" }));

  const runs = await Promise.all(["a", "b", "c"].map((text) => core.start(text, { externalThread })));
  const ended = await Promise.all(runs.map((run) => core.result(run)));

  expect(new Set(runs.map(({ threadId }) => threadId)).size).toBe(1);
  expect(ended.map((one) => one?.success)).toEqual([true, true, true]);
});

test("an external id whose thread was erased makes another one", async () => {
  await using core = await startScripted(() => ({ text: "done" }));
  const { threadId } = await core.query("a", { externalThread });
  await core.runs.eraseThread(core.caller, threadId);

  expect((await core.query("b", { externalThread })).threadId).not.toBe(threadId);
});

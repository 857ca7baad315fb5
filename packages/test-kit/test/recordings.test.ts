import { mkdtempDisposableSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { expect, test } from "vitest";
import { defineFunction, defineService, visibleTo, type Service } from "@patchbay/runtime";
import { runQuery, startTestServer, type ScriptedTurn } from "../src/index.ts";
import { orderService } from "./order-service.ts";

const place = () => mkdtempDisposableSync(join(tmpdir(), "patchbay-recordings-"));
const ask = { query: "What is order 1?", role: "customer", context: { customerId: "ann" } };
const turns: (ScriptedTurn | string)[] = [
  { thoughts: ["Look it up."], text: "One moment.", calls: [["get_order", { order: "1" }], ["opening_hours"]] },
  "It is a gift.",
];

/** A service whose function returns `text`. */
function answering(
  text: string | (() => unknown),
  more: { instructions?: string; description?: string } = {},
): Service {
  const { instructions = "Be kind.", description = "Looks." } = more;
  return defineService({
    name: "look",
    instructions,
    functions: [
      defineFunction({
        name: "look",
        description,
        input: z.object({}),
        roles: "everyone",
        handler: (_, { callId, runId }) => (typeof text === "string" ? text : { callId, runId, is: text() }),
      }),
    ],
  });
}

const looking = { query: "Look", model: [{ calls: [["look"] as const] }, "Seen."] };

test("a recorded query is replayed turn by turn", async () => {
  using folder = place();
  const file = join(folder.path, "gift.json");
  const recorded = await runQuery(orderService(), { ...ask, model: turns, record: file });

  const replayed = await runQuery(orderService(), { ...ask, replay: file });

  expect(replayed.answer.response).toBe("It is a gift.");
  expect(replayed.calls).toEqual(recorded.calls);
  expect(replayed.events.map(({ type }) => type)).toEqual(recorded.events.map(({ type }) => type));
});

test("a folder of recordings has a file for each thread, named after its first query", async () => {
  using folder = place();
  {
    await using server = await startTestServer(orderService(), { record: folder.path });
    const { answer } = await server.query({ query: "When are you open?", model: ["At nine."] });
    await server.query({ query: "And on Sunday?", threadId: answer.threadId, model: ["Not at all."] });
    await server.query({ query: "When are you open?", role: "customer", model: ["At ten."] });
  }

  expect(readdirSync(folder.path).toSorted()).toEqual(["when-are-you-open-2.json", "when-are-you-open.json"]);
  await using server = await startTestServer(orderService(), { replay: folder.path });
  const { answer } = await server.query({ query: "When are you open?" });
  const next = await server.query({ query: "And on Sunday?", threadId: answer.threadId });
  const other = await server.query({ query: "When are you open?", role: "customer" });
  expect([answer, next.answer, other.answer].map(({ response }) => response)).toEqual([
    "At nine.",
    "Not at all.",
    "At ten.",
  ]);
});

test("a replay ignores ids and references that differ between runs", async () => {
  using folder = place();
  const file = join(folder.path, "ids.json");
  const service = answering(() => 1);
  const failing = answering(() => {
    throw new Error("secret of the owner");
  });
  await runQuery(service, { ...looking, record: file });
  const { model: _, ...again } = looking;

  expect((await runQuery(service, { ...again, replay: file })).answer.response).toBe("Seen.");
  await runQuery(failing, { ...looking, record: file });
  expect((await runQuery(failing, { ...again, replay: file })).answer.response).toBe("Seen.");
});

test("a recording has no keys and no ids of runs, threads and calls", async () => {
  using folder = place();
  const file = join(folder.path, "keys.json");
  const apiKey = `service_live_${"a".repeat(36)}`;
  await runQuery(answering(`keys: ${apiKey} sk-ant-${"b".repeat(30)}`), { ...looking, record: file });
  await runQuery(
    answering(() => 1),
    { ...looking, record: join(folder.path, "ids.json") },
  );

  const texts = ["keys.json", "ids.json"].map((name) => readFileSync(join(folder.path, name), "utf8")).join();
  expect(texts).toContain("[secret]");
  expect(texts).not.toMatch(/service_live_a|sk-ant-|\b(run|thr|call)_[0-9a-f]{32}/);
});

test("a replay with changed instructions fails and names the line", async () => {
  using folder = place();
  const file = join(folder.path, "look.json");
  await runQuery(answering("x"), { ...looking, record: file });

  const changed = runQuery(answering("x", { instructions: "Be brief." }), { query: "Look", replay: file });

  await expect(changed).rejects.toThrow(
    /\(look\.json, turn 1\): the system text changed at line \d+\. Record it again/,
  );
  await expect(changed).rejects.toThrow(/was "Be kind\.", is "Be brief\."/);
});

test("a replay with changed, added or removed functions fails and names them", async () => {
  using folder = place();
  const file = join(folder.path, "look.json");
  await runQuery(answering("x"), { ...looking, record: file });

  const described = runQuery(answering("x", { description: "Peeks." }), { query: "Look", replay: file });
  const others = runQuery(orderService(), { query: "Look", replay: file });

  // Awaited together, because either may reject first.
  await Promise.all([
    expect(described).rejects.toThrow("function look has another description, schema or effect"),
    expect(others).rejects.toThrow("function look was removed; function opening_hours was added"),
  ]);
});

test("a replay with a changed result fails and names the message", async () => {
  using folder = place();
  const file = join(folder.path, "look.json");
  await runQuery(answering("a red adapter"), { ...looking, record: file });

  const changed = runQuery(answering("a blue adapter"), { query: "Look", replay: file });

  await expect(changed).rejects.toThrow("turn 2): message 3 (results of look) changed.");
  await expect(changed).rejects.toThrow('was "a red adapter", is "a blue adapter"');
});

test("the log of a failed replay has no text of the conversation", async () => {
  using folder = place();
  const file = join(folder.path, "look.json");
  await runQuery(answering("a red adapter"), { ...looking, record: file });
  await using server = await startTestServer(answering("a blue adapter"), { replay: file });

  await server.query({ query: "Look" }).catch(() => {});

  expect(JSON.stringify(server.log)).toContain("results of look");
  expect(JSON.stringify(server.log)).not.toContain("adapter");
});

test("equal requests get their recorded answers in order, then the last one", async () => {
  using folder = place();
  const file = join(folder.path, "hi.json");
  {
    await using server = await startTestServer(orderService(), { record: file });
    for (const model of [["One"], ["Two"]]) await server.query({ query: "Hi", model });
  }

  await using server = await startTestServer(orderService(), { replay: file });
  const said: string[] = [];
  for (let i = 0; i < 3; i++) said.push((await server.query({ query: "Hi" })).answer.response);

  expect(said).toEqual(["One", "Two", "Two"]);
});

test("startTestServer rejects a replay without a recording", async () => {
  using folder = place();

  await expect(startTestServer(orderService(), { replay: join(folder.path, "no.json") })).rejects.toThrow(
    /no recording at/,
  );
  await expect(startTestServer(orderService(), { replay: folder.path })).rejects.toThrow(/holds no recording/);
  await expect(startTestServer(orderService(), { replay: import.meta.filename })).rejects.toThrow(
    /it is not valid JSON/,
  );
  await expect(startTestServer(orderService(), { replay: "x", model: ["Hi"] })).rejects.toThrow(
    /`replay` cannot be combined/,
  );
});

test("a recording has no restricted values and can still be replayed", async () => {
  using folder = place();
  const file = join(folder.path, "protected.json");
  const service = defineService({
    name: "orders",
    functions: [
      defineFunction({
        name: "get_order",
        description: "Gets an order.",
        input: z.object({ order: z.string() }),
        output: z.object({
          order: z.string(),
          costs: z.array(z.object({ margin: visibleTo(z.string(), ["manager"]) })),
        }),
        roles: ["manager"],
        effect: "read",
        handler: ({ order }) => ({ order, costs: [{ margin: "canary-4711" }] }),
      }),
    ],
  });
  const ask = { query: "What do we earn?", role: "manager" };
  const model: (ScriptedTurn | string)[] = [{ calls: [["get_order", { order: "W1" }]] }, "It is canary-4711."];

  const recorded = await runQuery(service, { ...ask, model, record: file });
  const replayed = await runQuery(service, { ...ask, replay: file });

  expect(JSON.stringify(recorded.answer)).toContain("canary-4711");
  expect(readFileSync(file, "utf8")).not.toContain("canary-4711");
  expect(replayed.answer.response).toBe("It is [protected].");
  expect(replayed.calls).toEqual(recorded.calls);
});

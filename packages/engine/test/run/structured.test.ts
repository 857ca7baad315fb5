import { expect, test } from "vitest";
import { PLAN_GO_AHEAD, PLAN_REQUEST } from "../../src/ports/model-provider.ts";
import { responds, SCHEMA, startStructured as desk } from "./start-structured.ts";

const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type);

test("the arguments of respond are the answer, which is not among the calls and their events", async () => {
  await using system = await desk([{ ...responds({ total: 7 }), text: "Adding up." }]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ success: true, structured: { total: 7 }, toolInteractions: [] });
  expect(answer.response).toBe('```json\n{\n  "total": 7\n}\n```');
  const events = await system.events(answer.runId);
  expect(events).toMatchObject([
    { type: "thought", content: "Adding up." },
    { type: "finalResponse", structured: { total: 7 }, response: answer.response, toolInteractions: [] },
  ]);
});

test("respond is declared last in every turn, and the system text names it", async () => {
  await using system = await desk([{ calls: [["open", {}]] }, responds({ total: 1 })]);

  await system.ask();

  const [first, second] = system.model.requests;
  expect(first?.functions.map(({ name }) => name)).toEqual(["open", "respond"]);
  expect(first?.functions.at(-1)).toMatchObject({ inputSchema: SCHEMA, effect: "read" });
  expect(first?.respond).toBe(first?.functions.at(-1));
  expect(first?.system).toContain("by calling the function respond");
  expect(second).toMatchObject({ functions: first?.functions, system: first?.system, toolChoice: "auto" });
});

test("without a schema respond is not declared, and the system text asks for Markdown", async () => {
  await using system = await desk([{ text: "Seven." }]);

  const answer = await system.query("How much?");

  expect(answer).not.toHaveProperty("structured");
  expect(system.model.requests[0]?.functions.map(({ name }) => name)).toEqual(["open"]);
  expect(system.model.requests[0]?.system).toContain("in Markdown");
});

test("the name of respond differs from visible functions and does not reveal hidden ones", async () => {
  await using open = await desk([{ calls: [["respond_2", { total: 1 }]] }], { respond: "everyone" });
  await using hidden = await desk([responds({ total: 1 })], { respond: ["agent"], open: "everyone" });

  expect(await open.ask()).toMatchObject({ structured: { total: 1 }, toolInteractions: [] });
  expect(await hidden.ask()).toMatchObject({ structured: { total: 1 }, toolInteractions: [] });
  expect(hidden.model.requests[0]?.functions.map(({ name }) => name)).toEqual(["open", "respond"]);
});

test("a role without functions must answer in its first turn", async () => {
  await using system = await desk([responds({ total: 1 })], { staff: ["agent"] });

  expect(await system.ask()).toMatchObject({ success: true, structured: { total: 1 } });
  expect(system.model.requests[0]?.toolChoice).toBe("respond");
});

test("calls next to a valid answer are recorded and not run, and the caller is warned", async () => {
  await using system = await desk([
    {
      calls: [
        ["open", { n: 1 }],
        ["respond", { total: 1 }],
        ["staff", {}],
      ],
    },
  ]);

  const answer = await system.ask();

  expect(answer).toMatchObject({ success: true, structured: { total: 1 } });
  expect(answer.toolInteractions.map(({ toolName, success, code }) => [toolName, success, code])).toEqual([
    ["open", false, "cancelled"],
    ["staff", false, "unknown_function"],
  ]);
  expect(answer.warnings).toEqual([
    "The model answered in the turn in which it called open, staff. These calls were not run.",
  ]);
  expect(system.runtime.orders).toEqual([]);
  expect(typesOf(await system.events(answer.runId))).toEqual([
    "toolCall",
    "toolCall",
    "toolResult",
    "toolResult",
    "finalResponse",
  ]);
  const audited = await system.store.audit.list({ agentId: "agt_1", runId: answer.runId, limit: 10 });
  expect(audited.items.map(({ action }) => action).toSorted()).toEqual([
    "call.denied",
    "call.failed",
    "run.started",
    "run.succeeded",
  ]);
});

test("the first three values of a turn are checked, and each value has its result", async () => {
  const many = { calls: [{}, {}, {}, { total: 1 }].map((value) => ["respond", value] as const) };
  await using system = await desk([many, responds({ total: 7 })]);

  expect(await system.ask()).toMatchObject({ success: true, structured: { total: 7 } });
  const lacks = { content: expect.stringContaining("- total is required") };
  expect(system.model.requests[1]?.messages.at(-1)).toMatchObject({
    results: [lacks, lacks, lacks, { content: expect.stringContaining("- the value is not checked") }],
  });
});

test("the next query of the thread sees the answer as text and without an open call", async () => {
  await using system = await desk((request) => {
    if (request.messages.at(-1)?.role === "results") return responds({ total: 3 });
    return request.respond
      ? {
          calls: [
            ["open", {}],
            ["respond", { total: "3" }],
          ],
        }
      : { text: "Again." };
  });
  const first = await system.ask();

  await system.query("And now?", { threadId: first.threadId });

  expect(system.model.requests.at(-1)?.messages).toMatchObject([
    { role: "user", text: "How much?" },
    { role: "assistant", calls: [{ name: "open" }] },
    { role: "results", results: [{ name: "open" }] },
    { role: "assistant", text: first.response, calls: [] },
    { role: "user", text: "And now?" },
  ]);
});

test("an answer that maxTokens cut fails the run", async () => {
  await using inside = await desk([{ ...responds('{"total": 1'), stop: "length", cutCall: true }]);
  await using inText = await desk([{ text: "The total is", stop: "length" }]);

  for (const system of [inside, inText]) {
    const answer = await system.ask();
    expect(answer).toMatchObject({ success: false, code: "output_limit", response: "" });
    expect(system.model.requests).toHaveLength(1);
  }
});

test("a plan comes first in analysisMode", async () => {
  await using system = await desk([{ text: "1. Look." }, responds({ total: 1 })]);

  const answer = await system.ask("How much?", { analysisMode: true });

  expect(answer).toMatchObject({ success: true, structured: { total: 1 } });
  expect(system.model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["none", "auto"]);
  expect(system.model.requests[1]?.messages.slice(1)).toMatchObject([
    { text: PLAN_REQUEST },
    { text: "1. Look." },
    { text: PLAN_GO_AHEAD },
  ]);
});

test("texts are shown as thoughts, not as parts of the response", async () => {
  const following = Promise.withResolvers<void>();
  await using system = await desk((_, index) => {
    if (index === 0) return { calls: [["open", {}]] };
    if (index === 1) return { until: following.promise, text: "Well, seven." };
    return { ...responds({ total: 7 }), text: "So be it." };
  });
  const run = await system.start("How much?", { responseSchema: SCHEMA });
  const seen: string[] = [];
  for await (const { id, body } of system.follow(run)) {
    const { type, content = "" } = JSON.parse(body) as { type: string; content?: string };
    seen.push([id === undefined ? "live" : "", type, content].join(" ").trim());
    if (seen.length === 2) following.resolve();
  }

  expect(seen).toEqual([
    "toolCall",
    "toolResult",
    "live thoughtDelta Well,",
    "live thoughtDelta seven.",
    "thought Well, seven.",
    "live thoughtDelta So",
    "live thoughtDelta be",
    "live thoughtDelta it.",
    "thought So be it.",
    "finalResponse",
  ]);
});

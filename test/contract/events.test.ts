import { describe, expect, test } from "vitest";
import { callThenAnswer, scriptFor, type Script } from "@patchbay/test-support/providers";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem } from "./contract-system.ts";

const members = (data: object | undefined) => Object.keys(data ?? {}).sort();

const thinking: Script = ({ step }) =>
  step === 0
    ? {
        thoughts: ["I look it up."],
        text: "One moment.",
        calls: [
          { name: "look_up", arguments: { id: "1" } },
          { name: "fail", arguments: { kindly: true } },
        ],
      }
    : { text: "It is there." };

describe("events of endpoint 2 have these fields at the top level", () => {
  test("thought: content; toolCall: toolName, toolCallId, parameters; toolResult: toolName, toolCallId, success, result?, errorMessage?", async () => {
    await using system = await startContractSystem(thinking, { wire: "anthropic" });

    const { events } = await system.stream("hi");

    const [thought, spoken, call, other, ...rest] = events.map(({ data }) => data);
    expect([thought, spoken]).toEqual([
      { type: "thought", content: "I look it up." },
      { type: "thought", content: "One moment." },
    ]);
    const [toolCallId, otherId] = [call?.["toolCallId"], other?.["toolCallId"]];
    expect([call, other]).toEqual([
      { type: "toolCall", toolName: "look_up", toolCallId, parameters: { id: "1" } },
      { type: "toolCall", toolName: "fail", toolCallId: otherId, parameters: { kindly: true } },
    ]);
    const results = rest.filter(ofType("toolResult"));
    expect(results).toContainEqual({
      type: "toolResult",
      toolName: "look_up",
      toolCallId,
      success: true,
      result: { id: "1", found: true },
    });
    expect(results).toContainEqual({
      type: "toolResult",
      toolName: "fail",
      toolCallId: otherId,
      success: false,
      errorMessage: "The shop is closed.",
      code: "function_failed",
    });
  });

  test("finalResponse: response, threadId, runId, sessionId?, executionTimeMs, toolInteractions, usage, warnings?", async () => {
    await using system = await startContractSystem(scriptFor({ text: "Half", stop: "length" }));

    const { events, headers } = await system.stream("hi", { sessionId: "s-1" });

    const final = events.at(-1)?.data;
    expect(members(final)).toEqual([
      "executionTimeMs",
      "response",
      "runId",
      "sessionId",
      "threadId",
      "toolInteractions",
      "type",
      "usage",
      "warnings",
    ]);
    expect(final).toMatchObject({
      type: "finalResponse",
      response: "Half",
      sessionId: "s-1",
      runId: headers.get("X-Run-Id"),
      threadId: headers.get("X-Thread-Id"),
    });
    const plain = (await system.stream("hi")).events.at(-1)?.data;
    expect(plain).not.toHaveProperty("sessionId");
  });

  test("finalResponse has the same values as the response of endpoint 1 for that run", async () => {
    await using system = await startContractSystem(thinking);
    const key = { "idempotency-key": "k" };

    const { events } = await system.stream("hi", {}, key);
    const { type: _, ...final } = { type: "", ...events.at(-1)?.data };

    expect(await system.query("hi", {}, key)).toEqual({ ...final, success: true, errorMessage: "" });
  });

  test("error: errorMessage, code, threadId, runId", async () => {
    await using system = await startContractSystem(scriptFor({ error: { status: 401 } }));
    const { events, headers } = await system.stream("hi");
    expect(events).toHaveLength(1);
    expect(members(events[0]?.data)).toEqual(["code", "errorMessage", "runId", "threadId", "type"]);
    expect(events[0]?.data).toMatchObject({ type: "error", runId: headers.get("X-Run-Id") });
  });
});

describe("with includeDeltas, live only, not stored", () => {
  /** The text that a client keeps: deltas since the last reset. */
  const kept = (events: { type: string; content?: unknown }[]): string =>
    events
      .slice(events.findLastIndex(({ type }) => type === "deltaReset") + 1)
      .flatMap(({ type, content }) => (type === "responseDelta" ? [String(content)] : []))
      .join("");

  test("deltaReset discards the text of a failed attempt", async () => {
    const cut = { text: "Half an answer that breaks off in the middle of its way.", cutAfterBytes: 900 };
    await using system = await startContractSystem(scriptFor(cut, { text: "The whole answer." }), {
      wire: "openai-chat",
    });

    const { events } = await system.stream("hi", { includeDeltas: true });

    const types = events.map(({ data }) => data.type as string);
    expect(types.indexOf("responseDelta")).toBeLessThan(types.indexOf("deltaReset"));
    expect(events[types.indexOf("deltaReset")]).toMatchObject({ data: { type: "deltaReset" } });
    expect(events[types.indexOf("deltaReset")]?.id).toBeUndefined();
    expect(kept(events.map(({ data }) => data))).toBe("The whole answer.");
    const { text } = await system.local("hi", { include_deltas: true });
    expect(text).not.toContain("delta_reset");
  });

  test("deltaReset discards text next to calls, which then arrives as a thought", async () => {
    await using system = await startContractSystem(thinking, { wire: "anthropic" });

    const { events } = await system.stream("hi", { includeDeltas: true });
    const local = await system.local("hi", { include_deltas: true });

    const data = events.map((event) => event.data);
    expect(kept(data)).toBe("It is there.");
    const reset = data.findIndex(({ type }) => (type as string) === "deltaReset");
    expect(data[reset + 1]).toEqual({ type: "thought", content: "I look it up." });
    expect(local.events.map((event) => event.data)).toContainEqual({ type: "delta_reset", data: {} });
  });

  const reporting: Script = ({ step }) =>
    step === 0
      ? { thoughts: ["I shall ask for a report."], calls: [{ name: "report" }] }
      : { text: "The report is in, and it is rather long." };

  test("responseDelta and thoughtDelta carry content, toolProgress toolCallId and data; none has an id", async () => {
    await using system = await startContractSystem(reporting, { wire: "anthropic" });

    const { events } = await system.stream("hi", { includeDeltas: true });

    const live = events.filter(({ id }) => id === undefined).map(({ data }) => data);
    expect(new Set(live.map(({ type }) => type))).toEqual(new Set(["thoughtDelta", "toolProgress", "responseDelta"]));
    const text = (type: string) => live.filter(ofType(type)).map(({ content }) => content);
    expect(text("thoughtDelta").join("")).toBe("I shall ask for a report.");
    expect(text("responseDelta").join("")).toBe("The report is in, and it is rather long.");
    expect(text("responseDelta").length).toBeGreaterThan(1);
    const call = events.find(typed("toolCall"))?.data;
    expect(live.find(ofType("toolProgress"))).toEqual({
      type: "toolProgress",
      toolCallId: call?.["toolCallId"],
      data: { percent: 50 },
    });
  });

  test("each comes before the stored event that holds the whole", async () => {
    await using system = await startContractSystem(reporting, { wire: "anthropic" });

    const { events } = await system.stream("hi", { includeDeltas: true });

    const types = events.map(({ data }) => data.type as string);
    const order = types.filter((type, i) => type !== types[i - 1]);
    expect(order).toEqual([
      "thoughtDelta",
      "thought",
      "toolCall",
      "toolProgress",
      "toolResult",
      "responseDelta",
      "finalResponse",
    ]);
    const ids = events.flatMap(({ id }) => id ?? []);
    expect(ids).toEqual(ids.map((_, i) => i + 1));
  });

  test("without it a client receives only the documented types, and a resumed stream has no deltas", async () => {
    await using system = await startContractSystem(reporting, { wire: "anthropic" });
    const shown = await system.stream("hi", { includeDeltas: true });
    const plain = await system.stream("hi");
    const run = shown.headers.get("X-Run-Id");

    const resumed = await (await system.get(`/agents/${system.agentId}/runs/${run}/events`)).text();

    expect(plain.events.map(({ data }) => data.type)).toEqual(["thought", "toolCall", "toolResult", "finalResponse"]);
    expect(resumed).not.toMatch(/Delta|Progress/);
    expect(shown.events.filter(({ id }) => id !== undefined)).toHaveLength(4);
  });
});

describe("the stream", () => {
  test("has the wire form of an id line, one data line and a blank line for each stored event", async () => {
    await using system = await startContractSystem(thinking);
    const { text, events } = await system.stream("hi\n\nwith lines");
    const blocks = text.split("\n\n").slice(0, -1);
    for (const [i, block] of blocks.entries()) expect(block).toMatch(new RegExp(`^id: ${i + 1}\ndata: {.*}$`));
    expect(blocks).toHaveLength(events.length);
    expect(text.endsWith("}\n\n")).toBe(true);
  });

  test("has the documented headers before its first event", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "wait", arguments: { id: "a" } }]));
    const stream = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
    system.desk.release("a");
    await stream.rest();
    expect(Object.fromEntries(stream.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-thread-id": expect.stringMatching(/^thr_/),
      "x-run-id": expect.stringMatching(/^run_/),
      "x-request-id": expect.any(String),
    });
  });

  test("sends each event when it happens, and ends with exactly one finalResponse or error", async () => {
    await using system = await startContractSystem(callThenAnswer([{ name: "wait", arguments: { id: "a" } }]));
    const stream = openStream(await system.post(system.path("query-stream"), { query: "hi" }));

    await stream.until(typed("toolCall")); // the function has not answered yet
    system.desk.release("a");
    const text = await stream.rest();

    expect(text.match(/"type":"(finalResponse|error)"/g)).toHaveLength(1);
    expect(text.trimEnd().split("\n").at(-1)).toMatch(/^data: {"type":"finalResponse"/);
  });
});

function ofType(wanted: string) {
  return ({ type }: { type: string }): boolean => type === wanted;
}

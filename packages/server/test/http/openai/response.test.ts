import type { QueryResponse, RunEvent, LiveEvent } from "@patchbay/protocol";
import type OpenAI from "openai";
import { Stream } from "openai/streaming";
import { describe, expect, test } from "vitest";
import { assert, asyncProperty } from "@patchbay/test-support/properties";
import { responseTranslator, wholeResponse } from "../../../src/query/openai/response.ts";
import { ResponseEvent, ResponseObject } from "../../../src/query/openai/responses-wire.ts";
import { sampleAnswer } from "../../../../control-plane/test/sample-answer.ts";
import { finalResponse, writtenRun } from "./runs.ts";

const FORM = { model: "agt_1:clerk", stream: true, includeUsage: false, asJson: false };
const IDS = { runId: "run_1", created: 1_700_000_000 };
type Event = OpenAI.Responses.ResponseStreamEvent;

async function read(events: readonly (RunEvent | LiveEvent)[]) {
  const { usage } = sampleAnswer();
  const translator = responseTranslator(FORM, IDS, { interrupted: () => undefined, usage: async () => usage });
  let bytes = translator.open();
  for (const event of events) bytes += await translator.event({ body: JSON.stringify(event) });
  bytes += translator.close();
  const seen: Event[] = [];
  for await (const event of Stream.fromSSEResponse<Event>(new Response(bytes), new AbortController())) seen.push(event);
  const last = seen.at(-1) as Extract<
    Event,
    { type: "response.completed" | "response.failed" | "response.incomplete" }
  >;
  return { seen, last, response: last.response };
}

/** The texts of the items, as a client puts the events together, and as the last event has them. */
function pieced(seen: readonly Event[]) {
  const items: { type: string; text: string }[] = [];
  let open: string | undefined;
  for (const event of seen) {
    if (event.type === "response.output_item.added") {
      expect(open).toBeUndefined();
      open = event.item.id!;
      items.push({ type: event.item.type, text: "" });
    }
    if ("item_id" in event) expect(event.item_id).toBe(open);
    if ("output_index" in event) expect(event.output_index).toBe(items.length - 1);
    if (event.type === "response.output_text.delta" || event.type === "response.reasoning_summary_text.delta")
      items.at(-1)!.text += event.delta;
    if (event.type === "response.output_text.done" || event.type === "response.reasoning_summary_text.done")
      expect(event.text).toBe(items.at(-1)!.text);
    if (event.type === "response.output_item.done") open = undefined;
  }
  expect(open).toBeUndefined();
  return items;
}

const textOf = (item: OpenAI.Responses.ResponseOutputItem) => {
  if (item.type === "message") return item.content.map((part) => (part.type === "output_text" ? part.text : "")).join();
  return item.type === "reasoning" ? item.summary.map(({ text }) => text).join() : expect.fail(item.type);
};

describe("any run", () => {
  test("becomes events of one item at a time, and the last one has the whole output", async () => {
    await assert(
      asyncProperty(writtenRun, async (run) => {
        const { seen, response } = await read(run.events);
        const items = pieced(seen);

        expect(seen.map(({ sequence_number }) => sequence_number)).toEqual(seen.map((_, i) => i));
        expect(seen.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
        for (const event of seen) ResponseEvent.parse(event);
        ResponseObject.parse(response);
        expect(response.output.map((item) => ({ type: item.type, text: textOf(item) }))).toEqual(items);
        expect(response.status === "completed").toBe(run.answer !== undefined);
        const ofType = (type: string) => items.flatMap((one) => (one.type === type ? one.text : [])).join("");
        if (run.answer !== undefined) expect(ofType("message").endsWith(run.answer)).toBe(true);
        for (const thought of run.thoughts) expect(ofType("reasoning")).toContain(thought);
      }),
    );
  });
});

test.each([
  ["output_limit", "max_output_tokens", []],
  ["refused", "content_filter", ["No."]],
] as const)("a run that ends with %s is incomplete because of %s", async (code, reason, texts) => {
  const { response } = await read([{ type: "error", errorMessage: "No.", code, threadId: "t", runId: "r" }]);

  expect(response).toMatchObject({ status: "incomplete", incomplete_details: { reason }, usage: { input_tokens: 1 } });
  expect(response.output.map(textOf)).toEqual(texts);
});

test("a failed run, and a stream that ends before its run, fail with the reason", async () => {
  const { last } = await read([
    { type: "error", errorMessage: "It failed.", code: "provider_error", threadId: "t", runId: "r" },
  ]);
  const request = { approvalId: "apr_1", toolCallId: "1", toolName: "refund", parameters: {}, by: ["lead"] };
  const waiting = await read([{ type: "approvalRequest", ...request, expiresAt: "2026-01-01T00:00:00Z" }]);

  expect(last).toMatchObject({
    type: "response.failed",
    response: { error: { code: "provider_error", message: "It failed." }, usage: { total_tokens: 3 } },
  });
  expect(waiting.response.error).toMatchObject({ code: "approval_required" });
});

test("a whole response has the reasoning, the answer and the usage", async () => {
  const answer: QueryResponse = { success: true, errorMessage: "", ...sampleAnswer(), response: "Two." };
  async function* log(...events: RunEvent[]) {
    for (const event of events) yield { id: 1, body: JSON.stringify(event) };
  }
  const events = log({ type: "thought", content: "Hm." }, finalResponse("Two."));

  const response = await wholeResponse(answer, events, { ...FORM, previous: "resp_run_0" }, IDS);

  expect(ResponseObject.parse(response)).toEqual({
    id: "resp_run_1",
    object: "response",
    created_at: IDS.created,
    status: "completed",
    model: "agt_1:clerk",
    output: [
      { type: "reasoning", id: "rs_run_1_0", summary: [{ type: "summary_text", text: "Hm." }] },
      {
        type: "message",
        id: "msg_run_1_1",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "Two.", annotations: [] }],
      },
    ],
    error: null,
    incomplete_details: null,
    previous_response_id: "resp_run_0",
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 3,
    },
    instructions: null,
    metadata: {},
    tools: [],
    tool_choice: "none",
    parallel_tool_calls: true,
  });
});

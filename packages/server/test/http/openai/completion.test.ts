import type { LiveEvent, QueryResponse, RunEvent } from "@patchbay/protocol";
import type OpenAI from "openai";
import { Stream } from "openai/streaming";
import { describe, expect, test } from "vitest";
import { assert, asyncProperty } from "@patchbay/test-support/properties";
import { chunkTranslator, completionOf } from "../../../src/query/openai/completion.ts";
import { sampleAnswer } from "../../../../control-plane/test/sample-answer.ts";
import { finalResponse, writtenRun } from "./runs.ts";

const FORM = { model: "agt_1:clerk", stream: true, includeUsage: false, asJson: false };
const IDS = { runId: "run_1", created: 1_700_000_000 };
type Chunk = OpenAI.ChatCompletionChunk;

function translate(events: readonly (RunEvent | LiveEvent)[], form: Partial<typeof FORM> = {}) {
  const interrupted: true[] = [];
  const translator = chunkTranslator({ ...FORM, ...form }, IDS, {
    interrupted: () => void interrupted.push(true),
    usage: async () => undefined,
  });
  let bytes = translator.open();
  // Only the end of a failed run, with its usage, is a promise.
  for (const event of events) bytes += translator.event({ body: JSON.stringify(event) }) as string;
  bytes += translator.close();
  return { bytes, interrupted };
}

/** What OpenAI's client reads of a stream. */
async function read(bytes: string) {
  const chunks: Chunk[] = [];
  let error: unknown;
  try {
    for await (const chunk of Stream.fromSSEResponse<Chunk>(new Response(bytes), new AbortController()))
      chunks.push(chunk);
  } catch (thrown) {
    error = thrown;
  }
  const sent = chunks.flatMap(({ choices }) =>
    choices.map(({ delta }) => delta as typeof delta & { reasoning_content?: string }),
  );
  return {
    chunks,
    error,
    content: sent.map(({ content }) => content ?? "").join(""),
    reasoning: sent.map(({ reasoning_content }) => reasoning_content ?? "").join(""),
    finishes: chunks.flatMap(({ choices }) => choices.flatMap((one) => one.finish_reason ?? [])),
  };
}

describe("any run", () => {
  test("becomes a stream that OpenAI's client reads, whose content ends with the answer", async () => {
    await assert(
      asyncProperty(writtenRun, async (run) => {
        const { bytes, interrupted } = translate(run.events);
        const { chunks, error, content, reasoning, finishes } = await read(bytes);

        expect(bytes.endsWith("data: [DONE]\n\n")).toBe(true);
        expect(bytes.split("[DONE]")).toHaveLength(2);
        expect(finishes.length + (error === undefined ? 0 : 1)).toBe(1);
        expect(chunks[0]!.choices[0]!.delta).toEqual({ role: "assistant", content: "" });
        for (const { id, object, created, model, choices } of chunks) {
          expect({ id, object, created, model }).toEqual({
            id: "chatcmpl-run_1",
            object: "chat.completion.chunk",
            created: IDS.created,
            model: FORM.model,
          });
          for (const { index, delta } of choices) {
            expect(index).toBe(0);
            expect(delta).not.toHaveProperty("tool_calls");
          }
        }
        if (run.answer !== undefined) {
          expect(content.endsWith(run.answer)).toBe(true);
          if (run.isPlain) expect(content).toBe(run.answer);
          expect(finishes).toEqual(["stop"]);
        }
        for (const thought of run.thoughts) expect(reasoning).toContain(thought);
        for (const said of run.spoken) expect(content + reasoning).toContain(said);
        expect(reasoning.match(/^Calls /gm) ?? []).toHaveLength(run.calls.length);
        expect(interrupted).toHaveLength(["finalResponse", "error"].includes(run.events.at(-1)?.type ?? "") ? 0 : 1);
      }),
    );
  });
});

describe("content", () => {
  const delta = (content: string): LiveEvent => ({ type: "responseDelta", content });

  test.each([
    ["continues where a repeated attempt writes the same", ["The ca"], ["The", " cat", "."], "The cat."],
    ["begins a paragraph where it writes something else", ["The ca"], ["The", " dog."], "The ca\n\nThe dog."],
  ])("%s", async (_, failed, written, content) => {
    const events = [...failed.map(delta), { type: "deltaReset" } as const, ...written.map(delta)];

    expect((await read(translate([...events, finalResponse(written.join(""))]).bytes)).content).toBe(content);
  });

  test("is only the value where JSON was asked for, and fenced elsewhere", async () => {
    const event = { ...finalResponse("```json\n{}\n```"), structured: { a: 1 } } as RunEvent;

    expect((await read(translate([event], { asJson: true }).bytes)).content).toBe('{"a":1}');
    expect((await read(translate([event]).bytes)).content).toContain("```");
  });
});

test("what keeps the model is a comment, which clients skip", async () => {
  const status = { type: "modelStatus", state: "silent", attempt: 1 } as const;

  const { bytes } = translate([status, finalResponse("Hi")]);

  expect(bytes).toContain(`\n\n: ${JSON.stringify(status)}\n\n`);
  expect(await read(bytes)).toMatchObject({ error: undefined, content: "Hi", reasoning: "" });
});

test("the reasoning has thoughts, and a line with the arguments of each call", async () => {
  const long = "x".repeat(300);
  const { reasoning } = await read(
    translate([
      { type: "thoughtDelta", content: "Look " },
      { type: "thoughtDelta", content: "it up." },
      { type: "thought", content: "Look it up." },
      { type: "toolCall", toolName: "look_up", toolCallId: "1", parameters: { id: "A\n1" } },
      { type: "toolCall", toolName: "note", toolCallId: "2", parameters: long },
      { type: "thought", content: "Done." },
    ]).bytes,
  );

  expect(reasoning).toBe(
    `Look it up.\n\nCalls look_up with {"id":"A\\n1"}\n\nCalls note with "${"x".repeat(199)}…\n\nDone.`,
  );
});

test("the usage comes in a last chunk without choices, if it was asked for", async () => {
  const { chunks } = await read(translate([finalResponse("Hi")], { includeUsage: true }).bytes);

  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } },
  });
  expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
  expect((await read(translate([finalResponse("Hi")]).bytes)).chunks.some((chunk) => "usage" in chunk)).toBe(false);
});

test.each([
  ["output_limit", "length", ""],
  ["model_refused", "content_filter", "No."],
  ["refused", "content_filter", "No."],
] as const)("a run that ends with %s finishes with %s", async (code, reason, content) => {
  const events: RunEvent[] = [{ type: "error", errorMessage: "No.", code, threadId: "t", runId: "r" }];

  expect(await read(translate(events).bytes)).toMatchObject({ error: undefined, finishes: [reason], content });
});

test("an answer that was cut finishes with length", async () => {
  const event = { ...finalResponse("Hi"), warnings: ["The answer was cut by maxTokens"] } as RunEvent;

  expect((await read(translate([event]).bytes)).finishes).toEqual(["length"]);
});

test.each([
  ["provider_error", { type: "server_error", code: "provider_error" }],
  ["budget_exceeded", { type: "insufficient_quota", code: "insufficient_quota" }],
] as const)("a run that ends with %s is an error of the stream", async (code, error) => {
  const events: RunEvent[] = [{ type: "error", errorMessage: "It failed.", code, threadId: "t", runId: "r" }];

  expect((await read(translate(events).bytes)).error).toMatchObject({ ...error, message: "It failed." });
});

test("a stream that ends while its run waits for a person ends with approval_required", async () => {
  const request = { approvalId: "apr_1", toolCallId: "1", toolName: "refund", parameters: {}, by: ["lead"] };
  const { bytes, interrupted } = translate([
    { type: "approvalRequest", ...request, expiresAt: "2026-01-01T00:00:00Z" },
  ]);
  const { error, reasoning } = await read(bytes);

  expect(error).toMatchObject({ code: "approval_required" });
  expect(reasoning).toContain("refund");
  expect(interrupted).toEqual([true]);
});

describe("a completion", () => {
  const answer: QueryResponse = { success: true, errorMessage: "", ...sampleAnswer() };
  async function* log(...events: RunEvent[]) {
    for (const event of events) yield { id: 1, body: JSON.stringify(event) };
  }

  test("has the answer, its reasoning and the usage", async () => {
    const events = log({ type: "thought", content: "Hm." }, finalResponse("Two."));

    expect(await completionOf({ ...answer, warnings: ["tools was ignored"] }, events, FORM, IDS)).toEqual({
      id: "chatcmpl-run_1",
      object: "chat.completion",
      created: IDS.created,
      model: "agt_1:clerk",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Two.", refusal: null, reasoning_content: "Hm." },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
      usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, prompt_tokens_details: { cached_tokens: 0 } },
      warnings: ["tools was ignored"],
    });
  });

  test("of a refused run has the refusal as its content", async () => {
    const refused: QueryResponse = { ...answer, success: false, code: "refused", errorMessage: "No.", response: "" };

    expect(await completionOf(refused, log(), FORM, IDS)).toMatchObject({
      choices: [{ message: { content: "No." }, finish_reason: "content_filter" }],
    });
  });

  test.each(["approval_required", "provider_error", "output_invalid"] as const)(
    "of a run that ended with %s is an error",
    async (code) => {
      const failed: QueryResponse = { ...answer, success: false, code, errorMessage: "It failed." };

      await expect(completionOf(failed, log(), FORM, IDS)).rejects.toMatchObject({ code, message: "It failed." });
    },
  );
});

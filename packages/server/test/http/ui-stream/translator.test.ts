import {
  parseJsonEventStream,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from "ai";
import { describe, expect, test } from "vitest";
import * as fc from "@patchbay/test-support/properties";
import { answerMessage } from "../../../src/query/ui-stream/messages.ts";
import { type Beginning, uiTranslator } from "../../../src/query/ui-stream/translator.ts";
import type { Followed } from "@patchbay/engine/run/api";
import { anyRun, RUN, typeOf } from "./run-logs.ts";

/** What a client gets of these events, until the run waits or ends, and the events after that. */
function translate(events: readonly Followed[], beginning: Beginning = {}): { text: string; rest: Followed[] } {
  const translator = uiTranslator(RUN, beginning);
  let text = translator.open();
  for (const [i, event] of events.entries()) {
    text += translator.event(event);
    if (translator.ended) return { text: text + translator.close(), rest: events.slice(i + 1) };
  }
  return { text: text + translator.close(), rest: [] };
}

/** Reads a stream as the AI SDK's client does. Throws where the client would. */
async function read(text: string, message?: UIMessage): Promise<{ message: UIMessage; chunks: UIMessageChunk[] }> {
  const chunks: UIMessageChunk[] = [];
  const stream = parseJsonEventStream({ stream: new Blob([text]).stream(), schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(parsed, controller) {
        if (!parsed.success) throw parsed.error;
        chunks.push(parsed.value);
        // The client throws what an error chunk says, which is what this test does not ask about.
        if (parsed.value.type !== "error") controller.enqueue(parsed.value);
      },
    }),
  );
  let last = message;
  const options = { stream, terminateOnError: true, ...(message && { message: structuredClone(message) }) };
  for await (const one of readUIMessageStream(options)) last = one;
  return { message: last ?? { id: "", role: "assistant", parts: [] }, chunks };
}

/** The message of a whole run, with the requests that a client sends after each pause. */
async function readWhole(log: readonly Followed[]): Promise<UIMessage> {
  let { text, rest } = translate(log);
  let { message } = await read(text);
  while (rest.length > 0) {
    const decided = approvalsOf(message);
    ({ text, rest } = translate(log, { decided }));
    ({ message } = await read(text, message));
  }
  return message;
}

/** The approvals that the client is asked for. */
const approvalsOf = ({ parts }: UIMessage): string[] =>
  parts.flatMap((part) =>
    part.type === "dynamic-tool" && part.state === "approval-requested" ? [part.approval.id] : [],
  );

/** The texts of a message by kind, without the parts that they are in: a live text can grow in one part. */
function textsOf({ parts }: Pick<UIMessage, "parts">): string {
  return parts.flatMap((part) => (part.type === "text" || part.type === "reasoning" ? [part.text] : [])).join("|");
}

const callsOf = ({ parts }: Pick<UIMessage, "parts">) =>
  parts.flatMap((part) => (part.type === "dynamic-tool" ? [{ id: part.toolCallId, state: part.state }] : []));

const isLive = ({ id }: Followed): boolean => id === undefined;

describe("any run", () => {
  test("is a stream that the client accepts, with the calls and the answer of the log", async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (log) => {
        const message = await readWhole(log);

        const stored = await answerMessage(
          RUN,
          log.filter((event) => !isLive(event)),
        );
        expect(message.id).toBe(`msg_${RUN.runId}`);
        expect(callsOf(message)).toEqual(callsOf(stored as UIMessage));
        const last = log.at(-1)!;
        if (typeOf(last) === "finalResponse") {
          const { response } = JSON.parse(last.body) as { response: string };
          const answer = message.parts.findLast(({ type }) => type === "text") as { text: string } | undefined;
          if (response !== "") expect(answer?.text).toBe(response);
          expect(textsOf(message).replaceAll(/\s|\|/g, "")).toBe(textsOf(stored as UIMessage).replaceAll(/\s|\|/g, ""));
        }
      }),
      { numRuns: 120 },
    );
  });

  test("is the same message after a client has come back at any event", async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, fc.nat(), async (log, seed) => {
        const stored = log.filter((event) => !isLive(event));
        const joinedAt = seed % stored.length;
        const at = log.findIndex(({ id }) => id === joinedAt);
        // The log until now, then what the run does live.
        const replayed = [...log.slice(0, at + 1).filter((event) => !isLive(event)), ...log.slice(at + 1)];
        const firstPause = translate(stored).rest.length > 0;

        const { message } = await read(translate(replayed, { joinedAt }).text);

        if (firstPause || typeOf(stored.at(-1)!) !== "finalResponse") return;
        const whole = (await answerMessage(RUN, stored)) as UIMessage;
        expect(textsOf(message).replaceAll(/\s|\|/g, "")).toBe(textsOf(whole).replaceAll(/\s|\|/g, ""));
        expect(callsOf(message)).toEqual(callsOf(whole));
      }),
      { numRuns: 120 },
    );
  });

  test("read back is the message that a client makes of its replayed log", async () => {
    await fc.assert(
      fc.asyncProperty(anyRun, async (log) => {
        const stored = log.filter((event) => !isLive(event));
        const { text, rest } = translate(stored);
        const upToPause = stored.slice(0, stored.length - rest.length);

        const { message } = await read(text);

        expect(withoutUndefined(await answerMessage(RUN, upToPause))).toEqual(withoutUndefined(message));
      }),
      { numRuns: 120 },
    );
  });
});

test("reasoning comes before a text of a failed attempt whose withdrawal was lost, as it is stored", async () => {
  const events = [
    { type: "responseDelta", content: "\n" },
    { type: "thoughtDelta", content: "first" },
    { type: "responseDelta", content: "second" },
    { id: 1, type: "thought", content: "first" },
    { id: 2, type: "thought", content: "second" },
    { id: 3, type: "toolCall", toolCallId: "call_1", toolName: "f", parameters: {} },
  ];
  const log = events.map(({ id, ...event }): Followed => ({
    ...(id !== undefined && { id }),
    body: JSON.stringify(event),
  }));

  const { message } = await read(translate(log).text);

  expect(textsOf(message)).toBe("first|second");
});

test("what keeps the model is a part that the message does not hold, and the warnings of a failure are in its metadata", async () => {
  const { text } = translate([
    { body: '{"type":"modelStatus","state":"retrying","attempt":2,"waitMs":500}' },
    { id: 1, body: '{"type":"error","errorMessage":"No.","code":"provider_error","warnings":["Late"]}' },
  ]);

  const { message, chunks } = await read(text);

  expect(chunks).toContainEqual({
    type: "data-model-status",
    data: { state: "retrying", attempt: 2, waitMs: 500 },
    transient: true,
  });
  expect(message).toMatchObject({
    parts: [{ type: "step-start" }],
    metadata: { warnings: ["Late"], error: { code: "provider_error" } },
  });
});

/** Properties without a value, and the ids of parts, which only a stream needs. */
const withoutUndefined = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

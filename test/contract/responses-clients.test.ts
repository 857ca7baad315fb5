import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, Output, streamText, jsonSchema } from "ai";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { RunDetail } from "@patchbay/protocol";
import type { Script } from "@patchbay/test-support/providers";
import { type ContractOptions, startContractSystem } from "./contract-system.ts";

/** Calls `refund` in the first turn, and answers then. */
const refunding: Script = ({ step }) =>
  step === 0 ? { calls: [{ name: "refund", arguments: { id: "A-1" } }] } : { text: "Refunded." };

async function start(script: Script = refunding, options: ContractOptions = {}) {
  const system = await startContractSystem(script, options);
  const { agentId, apiKey, url, standIn } = system;
  const baseURL = `${url}/agents/${agentId}/v1`;
  return {
    ...system,
    model: `${agentId}:support`,
    client: new OpenAI({ baseURL, apiKey, maxRetries: 0 }),
    aiSdk: createOpenAI({ baseURL, apiKey }),
    /** What the model was sent last. */
    asked: () => JSON.stringify(standIn.requests.at(-1)!.body),
    threads: async () => {
      const { items } = (await (await system.get(`/agents/${agentId}/threads`)).json()) as { items: object[] };
      return items.length;
    },
  };
}

describe("OpenAI's client", () => {
  test("gets the answer, and continues its thread with previous_response_id", async () => {
    await using system = await start();
    const { client, model } = system;

    const first = await client.responses.create({ model, input: "Refund order A-1" });
    const second = await client.responses.create({ model, input: "And now?", previous_response_id: first.id });

    expect([first.status, first.output_text, first.usage!.total_tokens > 0]).toEqual(["completed", "Refunded.", true]);
    expect(first.output[0]).toMatchObject({ type: "reasoning", summary: [{ text: 'Calls refund with {"id":"A-1"}' }] });
    expect(second.previous_response_id).toBe(first.id);
    expect(system.asked()).toContain("Refund order A-1");
    expect(await system.threads()).toBe(1);
    expect(system.desk.handled).toMatchObject([{ name: "refund", role: "support" }, { name: "refund" }]);
  });

  test.each([
    ["older than the newest of its thread", (first: string) => first],
    ["unknown", () => `resp_run_${"0".repeat(32)}`],
  ])("is refused a response that is %s", async (_, previous) => {
    await using system = await start(() => ({ text: "Hi." }));
    const { client, model } = system;
    const first = await client.responses.create({ model, input: "One" });
    await client.responses.create({ model, input: "Two", previous_response_id: first.id });

    const third = client.responses.create({ model, input: "Three", previous_response_id: previous(first.id) });

    await expect(third).rejects.toMatchObject({
      status: 400,
      param: "previous_response_id",
    });
  });

  test("reads a stream with the text, the steps and the usage", async () => {
    await using system = await start();

    const stream = system.client.responses.stream({ model: system.model, input: "Refund order A-1" });
    const texts: string[] = [];
    stream.on("response.output_text.delta", ({ delta }) => texts.push(delta));
    const { output_text, status, usage } = await stream.finalResponse();

    expect([texts.join(""), output_text, status]).toEqual(["Refunded.", "Refunded.", "completed"]);
    expect(usage!.output_tokens).toBeGreaterThan(0);
  });

  test("parses an answer that meets a schema", async () => {
    await using system = await start(() => ({ calls: [{ name: "respond", arguments: { total: 3 } }] }));
    const schema = { type: "object", properties: { total: { type: "integer" } }, required: ["total"] };
    const format = { type: "json_schema", name: "sum", strict: true, schema } as const;

    const { output_parsed } = await system.client.responses.parse({
      model: system.model,
      input: "Sum",
      text: { format },
    });

    expect(output_parsed).toEqual({ total: 3 });
  });

  test("gets the reason of a failed run, and does not repeat it", async () => {
    await using system = await start(() => ({ text: "Hi." }), { connected: false });
    const client = system.client.withOptions({ maxRetries: 2 });

    const error = client.responses.create({ model: system.agentId, input: "Hi" });

    await expect(error).rejects.toMatchObject({ status: 500, code: "agent_session_not_found" });
    expect(await system.plane.store.runs.list(system.agentId, { limit: 9 })).toHaveLength(1);
  });
});

describe("the AI SDK with its default API", () => {
  test("generates a text, and its next request continues the thread", async () => {
    await using system = await start();
    const model = system.aiSdk(system.model);
    const messages: ModelMessage[] = [{ role: "user", content: "Refund order A-1" }];

    const first = await generateText({ model, messages });
    messages.push(...first.responseMessages, { role: "user", content: "And now?" });
    const second = await generateText({ model, messages });

    expect([first.text, first.finishReason, second.text]).toEqual(["Refunded.", "stop", "Refunded."]);
    expect(system.asked()).toContain('"refund"');
    expect(await system.threads()).toBe(1);
  });

  test("asks another question after an older answer in a thread of its own, with a warning", async () => {
    await using system = await start(() => ({ text: "Hi." }));
    const model = system.aiSdk(system.model);
    const messages: ModelMessage[] = [{ role: "user", content: "One" }];
    const first = await generateText({ model, messages });
    messages.push(...first.responseMessages);
    await generateText({ model, messages: [...messages, { role: "user", content: "Two" }] });

    const { response } = await generateText({ model, messages: [...messages, { role: "user", content: "Three" }] });

    const runId = response.id.slice("resp_".length);
    const run = await system.get(`/agents/${system.agentId}/runs/${runId}`);
    expect(((await run.json()) as RunDetail).result!.warnings).toEqual([expect.stringContaining("Earlier answers")]);
    expect(await system.threads()).toBe(2);
  });

  test("streams a text, and reads an object", async () => {
    await using system = await start(({ functions }) =>
      functions.includes("respond") ? { calls: [{ name: "respond", arguments: { total: 3 } }] } : { text: "Refunded." },
    );
    const model = system.aiSdk(system.model);
    const schema = jsonSchema({
      type: "object",
      properties: { total: { type: "integer" } },
      required: ["total"],
      additionalProperties: false,
    });

    const { textStream } = streamText({ model, prompt: "Hi" });
    let text = "";
    for await (const part of textStream) text += part;
    const { output } = await generateText({ model, prompt: "Sum", output: Output.object({ schema }) });

    expect([text, output]).toEqual(["Refunded.", { total: 3 }]);
  });
});

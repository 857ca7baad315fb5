import type { AgentSettings } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { callThenAnswer, type Script, scriptFor } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });
const openai = (more: object = {}) => ({ llmConfig: { provider: "openai", model: "gpt-6-luna", ...more } });

async function startWith(settings: AgentSettings, script: Script = answering) {
  const system = await startContractSystem(script);
  await system.plane.admin.updateAgent(system.agentId, { settings });
  const efforts = () =>
    system.standIn.requests.map(({ body }) => [body["model"], (body["reasoning"] as { effort?: string }).effort]);
  const chat = (more: object) =>
    system.post(
      `/agents/${system.agentId}/v1/chat/completions`,
      { model: system.agentId, messages: [{ role: "user", content: "hi" }], ...more },
      { authorization: `Bearer ${system.apiKey}` },
    );
  return { ...system, efforts, chat, [Symbol.asyncDispose]: () => system[Symbol.asyncDispose]() };
}

test("llmConfig.reasoning comes before the agent's reasoning; without both the provider decides", async () => {
  await using plain = await startWith({});
  await using system = await startWith({ provider: "openai", model: "gpt-6-luna", reasoning: "low" });

  await plain.query("hi");
  await system.query("hi");
  await system.query("hi", openai({ reasoning: "max" }));
  await system.local("hi", { llm_config: { provider: "openai", reasoning: "none" } });

  expect(plain.efforts().map(([, effort]) => effort)).toEqual([undefined]);
  expect(system.efforts().map(([, effort]) => effort)).toEqual(["low", "xhigh", "none"]);
});

test("another word for llmConfig.reasoning -> 400 with its path", async () => {
  await using system = await startWith({});
  for (const reasoning of ["minimal", "xhigh", "HIGH", 1]) {
    const response = await system.post(system.path(), { query: "hi", ...openai({ reasoning }) });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: "invalid_request", details: [{ path: "llmConfig.reasoning" }] },
    ]);
  }
  expect(system.sent()).toEqual([]);
});

test("a locked reasoning -> 400 for another level, also as reasoning_effort", async () => {
  await using system = await startWith({ reasoning: "low", locked: ["reasoning"] });

  const response = await system.post(system.path(), { query: "hi", ...openai({ reasoning: "high" }) });
  const chat = await system.chat({ reasoning_effort: "high" });

  expect(await response.json()).toMatchObject({ details: [{ path: "llmConfig.reasoning" }] });
  expect([chat.status, await chat.text()]).toEqual([400, expect.stringContaining("reasoning_effort")]);
  expect(await system.query("hi", openai({ reasoning: "low" }))).toMatchObject({ success: true });
});

test("a fallback model has its own reasoning, unless the query sets one", async () => {
  const fallback = [{ provider: "openai" as const, model: "gpt-6.1-terra", reasoning: "high" as const }];
  const failing: Script = ({ model }) => (model === "gpt-6-luna" ? { error: { status: 404 } } : { text: "Hello." });
  await using system = await startWith(
    { provider: "openai", model: "gpt-6-luna", reasoning: "low", fallback },
    failing,
  );

  await system.query("hi");
  await system.query("hi", openai({ reasoning: "medium" }));

  expect(system.efforts()).toEqual([
    ["gpt-6-luna", "low"],
    ["gpt-6.1-terra", "high"],
    ["gpt-6-luna", "medium"],
    ["gpt-6.1-terra", "medium"],
  ]);
});

test("reasoning_effort of the OpenAI endpoint: minimal means low and xhigh means max", async () => {
  await using system = await startWith({ provider: "openai", model: "gpt-6-luna" });
  for (const effort of ["minimal", "high", "xhigh", "none"])
    expect((await system.chat({ reasoning_effort: effort })).status).toBe(200);
  const refused = await system.chat({ reasoning_effort: "much" });

  expect(system.efforts().map(([, effort]) => effort)).toEqual(["low", "high", "xhigh", "none"]);
  expect(refused.status).toBe(400);
});

test("a model without reasoning says so in warnings", async () => {
  await using system = await startContractSystem(answering);

  expect(
    await system.query("hi", { llmConfig: { provider: "openai", model: "gpt-4.1", reasoning: "high" } }),
  ).toMatchObject({
    success: true,
    warnings: ["The model gpt-4.1 has no reasoning, so llmConfig.reasoning was not sent."],
  });
});

test("usage.reasoningTokens is a part of outputTokens over all turns, on every endpoint and after the run", async () => {
  const calling = callThenAnswer([{ name: "look_up", arguments: { id: "7" } }]);
  const script: Script = async (request, turn) => ({
    ...(await calling(request, turn)),
    usage: { output: 50, reasoning: 20 },
  });
  await using system = await startWith({}, script);

  const { usage, runId } = await system.query("hi");
  const chat = (await (await system.chat({})).json()) as { usage: object };
  const stored = (await (await system.get(`/agents/${system.agentId}/runs/${runId}`)).json()) as object;

  expect(usage).toMatchObject({ outputTokens: 100, reasoningTokens: 40 });
  expect(chat.usage).toMatchObject({ completion_tokens: 100, completion_tokens_details: { reasoning_tokens: 40 } });
  expect(stored).toMatchObject({ result: { usage: { reasoningTokens: 40 } } });
});

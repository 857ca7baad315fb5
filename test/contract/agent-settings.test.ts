import type { AgentSettings, LlmConfig } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { scriptFor } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });

async function startWith(settings: AgentSettings) {
  const system = await startContractSystem(answering);
  await system.plane.admin.updateAgent(system.agentId, { settings });
  return system;
}

test("the agent's settings apply to the model request, except where the query sets its own values", async () => {
  await using system = await startWith({ provider: "openai", model: "gpt-6-luna", maxTokens: 50 });

  await system.query("hi");
  await system.query("hi", { llmConfig: { provider: "openai", maxTokens: 60 } });
  await system.local("hi");
  await system.local("hi", { max_tokens: 70 });

  expect(system.standIn.requests.map(({ body }) => body)).toMatchObject([
    { model: "gpt-6-luna", max_output_tokens: 50 },
    { model: "gpt-6-luna", max_output_tokens: 60 },
    { model: "gpt-6-luna", max_output_tokens: 50 },
    { model: "gpt-6-luna", max_output_tokens: 70 },
  ]);
});

test.each<[path: string, code: string, llmConfig: LlmConfig]>([
  ["llmConfig.provider", "model_not_allowed", { provider: "anthropic" }],
  ["llmConfig.model", "model_not_allowed", { provider: "openai", model: "gpt-6-astra" }],
  ["llmConfig.temperature", "invalid_request", { provider: "openai", temperature: 1 }],
  ["llmConfig.maxTokens", "invalid_request", { provider: "openai", maxTokens: 60 }],
  ["llmConfig.fallback", "invalid_request", { provider: "openai", fallback: false }],
])("a query that changes %s against the agent's settings answers 400 with %s", async (path, code, llmConfig) => {
  const locked = ["model", "temperature", "maxTokens", "fallback"] as const;
  const fallback = [{ provider: "openai" as const, model: "gpt-6-sol" }];
  await using system = await startWith({ provider: "openai", model: "gpt-6-luna", fallback, locked: [...locked] });

  const hosted = await Promise.all(
    (["query", "query-stream"] as const).map((endpoint) =>
      system.post(system.path(endpoint), { query: "hi", llmConfig }),
    ),
  );
  const local = await fetch(`${system.url}/agent/query-stream`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${system.accessToken}` },
    body: JSON.stringify({ query: "hi", llm_config: llmConfig }),
  });

  for (const [response, at] of [
    ...hosted.map((one) => [one, path] as const),
    [local, path.replace("C", "_c")] as const,
  ])
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        success: false,
        code,
        errorMessage: `Invalid request: ${at}: cannot be changed by queries of this agent`,
        details: [{ path: at, message: "cannot be changed by queries of this agent" }],
      },
    ]);
  expect(system.sent()).toEqual([]);
});

test("a locked model without a provider applies to queries that set only the tokens, at all endpoints", async () => {
  await using system = await startWith({ model: "gpt-6-luna", locked: ["model"] });
  const other = { provider: "openai", model: "gpt-6-astra" };

  await system.query("hi", { llmConfig: { provider: "openai", maxTokens: 60 } });
  await system.stream("hi", { llmConfig: { provider: "openai", maxTokens: 60 } });
  await system.local("hi", { llm_config: { provider: "openai", maxTokens: 60 } });
  const refused = await system.local("hi", { llm_config: other }).catch((error: unknown) => String(error));

  expect(system.standIn.requests.map(({ body }) => body)).toMatchObject(
    Array.from({ length: 3 }, () => ({ model: "gpt-6-luna", max_output_tokens: 60 })),
  );
  expect(refused).toContain("Invalid request: llm_config.model: cannot be changed by queries of this agent");
});

test.each([
  ["max_tokens", { max_tokens: 60 }],
  ["response_schema", { response_schema: { type: "object" } }],
])("%s of the local variant is rejected under its own name", async (path, body) => {
  await using system = await startWith({ maxTokens: 50, locked: ["maxTokens", "responseSchema"] });

  const refused = await fetch(`${system.url}/agent/query-stream`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${system.accessToken}` },
    body: JSON.stringify({ query: "hi", ...body }),
  });

  expect([refused.status, await refused.json()]).toMatchObject([400, { code: "invalid_request", details: [{ path }] }]);
});

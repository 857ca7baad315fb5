import { expect, test } from "vitest";
import { startDesk } from "./support/traced-desk.ts";

test("a run shows the settings from its query, its agent and the defaults", async () => {
  await using desk = await startDesk([{ text: "Done." }, { text: "Done." }]);
  const { runId } = await desk.query("Hi", { llm: { provider: "gemini", temperature: 0.1 } });
  await desk.store.accounts.updateAgent("agt_1", {
    settings: {
      temperature: 0.4,
      steps: 3,
      fallback: [{ provider: "openai" }, { provider: "gemini", model: "other" }],
      historyTokens: 2_000,
      maxCostUsd: 0.05,
      responseSchema: { type: "object", title: "Totals" },
    },
  });

  const { runId: later } = await desk.query("Hi", {
    llm: { provider: "gemini", temperature: 0.1, maxTokens: 50 },
    maxTokens: 50,
  });

  const defaults = { maxTokens: 8192, steps: 25, fallback: [], historyTokens: null, maxCostUsd: null };
  expect((await desk.trace(runId)).settings).toEqual({ ...defaults, temperature: 0.1, responseSchema: null });
  const trace = await desk.trace(later);
  expect(trace.settings).toEqual({
    temperature: 0.1,
    maxTokens: 50,
    steps: 3,
    fallback: [],
    historyTokens: 2_000,
    maxCostUsd: 0.05,
    responseSchema: { type: "object", title: "Totals" },
  });
  expect(trace.warnings).toContain("Fallback provider openai is not configured and was left out");
});

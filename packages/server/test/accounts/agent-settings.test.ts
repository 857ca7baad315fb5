import { expect, test } from "vitest";
import { createAdmin } from "../../src/accounts/admin.ts";
import { openOffice } from "./office.ts";

test("settings of an agent are changed one by one, and the audit log has their old and new values", async () => {
  await using office = await openOffice();
  const { agentId } = await office.admin.createAgent("Clerk");
  const responseSchema = { type: "object", description: "An answer about totals." };
  const settings = { model: "claude-sonnet-5-5", temperature: 0.2, responseSchema };
  await office.admin.updateAgent(agentId, { settings });

  const agent = await office.admin.updateAgent(agentId, {
    settings: { temperature: 0.5, model: null, responseSchema: { type: "object" }, steps: 3 },
  });

  expect(agent.settings).toEqual({ temperature: 0.5, steps: 3, responseSchema: { type: "object" } });
  expect((await office.admin.listAgents())[0]?.settings).toEqual(agent.settings);
  const { items } = await office.admin.listAudit(agentId, { action: "agent.updated" });
  expect(items).toMatchObject([
    {
      detail: {
        changed: ["settings"],
        settings: {
          model: { from: "claude-sonnet-5-5", to: null },
          temperature: { from: 0.2, to: 0.5 },
          responseSchema: { from: "(a schema)", to: "(a schema)" },
          steps: { from: null, to: 3 },
        },
      },
    },
    {
      detail: { settings: { temperature: { from: null, to: 0.2 }, responseSchema: { from: null, to: "(a schema)" } } },
    },
  ]);
  expect(JSON.stringify(items)).not.toContain("An answer about totals");
});

test.each<[object, string]>([
  [{ temperature: 3 }, "settings.temperature"],
  [{ steps: 0 }, "settings.steps"],
  [{ steps: 101 }, "settings.steps"],
  [{ maxTokens: 1.5 }, "settings.maxTokens"],
  [{ model: "a//b" }, "settings.model"],
  [{ provider: "offline" }, "settings.provider"],
  [{ fallback: [{ provider: "openai", model: "../x" }] }, "settings.fallback.0.model"],
  [{ historyTokens: 999 }, "settings.historyTokens"],
  [{ maxCostUsd: 0 }, "settings.maxCostUsd"],
  [{ responseSchema: [] }, "settings.responseSchema"],
  [{ locked: ["steps"] }, "settings.locked.0"],
  [{ colour: "red" }, "settings"],
])("settings %j are refused, and nothing is changed", async (settings, path) => {
  await using office = await openOffice();
  const { agentId } = await office.admin.createAgent("Clerk");

  const refused = office.admin.updateAgent(agentId, { name: "Buyer", settings });

  await expect(refused).rejects.toMatchObject({ name: "AdminError", details: [{ path }] });
  const [agent] = await office.admin.listAgents();
  expect([agent?.name, agent?.settings]).toEqual(["Clerk", {}]);
});

test("models without a price are refused for charged organisations; the operator's prices count", async () => {
  await using office = await openOffice();
  const { orgId } = await office.admin.createOrg("Paying", "starter");
  const { agentId } = await office.admin.createAgent("Clerk", { orgId });
  const sandbox = await office.admin.createAgent("Tester", { orgId: (await office.admin.createOrg("Free")).orgId });
  const fallback = [{ provider: "openai" as const }, { provider: "openai" as const, model: "llama-next" }];
  const own = createAdmin({ store: office.store, prices: { "llama-next": { input: 1, output: 1 } } });

  await expect(office.admin.updateAgent(agentId, { settings: { model: "claude-next" } })).rejects.toMatchObject({
    reason: "model",
    message:
      "No price is known for model claude-next, and the agent's organisation pays for its queries. " +
      "Name another model, or have the operator add its price (--prices).",
  });
  await expect(office.admin.updateAgent(agentId, { settings: { fallback } })).rejects.toMatchObject({
    details: [{ path: "settings.fallback.1.model" }],
  });

  expect(await own.updateAgent(agentId, { settings: { fallback } })).toMatchObject({ settings: { fallback } });
  expect(await office.admin.updateAgent(sandbox.agentId, { settings: { model: "claude-next" } })).toMatchObject({
    settings: { model: "claude-next" },
  });
});

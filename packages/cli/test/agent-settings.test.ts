import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { expect, test } from "vitest";
import { settingsChange, settingsOptions } from "../src/commands/agent-settings.ts";
import { administration } from "./support/administration.ts";

test("settings of an agent are set, shown and cleared", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const schema = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
  const file = join(admin.folder, "answer.json");
  await writeFile(file, JSON.stringify(schema));
  const update = ["agents", "update", agentId];

  const given = [
    "--provider anthropic --model claude-sonnet-5-5 --temperature 0.2 --reasoning none --max-tokens 2000 --steps 5",
    "--fallback openai/gpt-6-luna#max,gemini#low --max-cost-run 0.25 --history-tokens 20000 --locked model,temperature --callers required",
    "--retention-days 7",
  ];
  const set = await admin.json(...update, ...given.join(" ").split(" "), "--response-schema", file);

  const settings = {
    provider: "anthropic",
    model: "claude-sonnet-5-5",
    temperature: 0.2,
    reasoning: "none",
    maxTokens: 2000,
    steps: 5,
    fallback: [
      { provider: "openai", model: "gpt-6-luna", reasoning: "max" },
      { provider: "gemini", reasoning: "low" },
    ],
    maxCostUsd: 0.25,
    historyTokens: 20_000,
    responseSchema: schema,
    locked: ["model", "temperature"],
    callers: "required",
    retentionDays: 7,
  };
  expect(set).toMatchObject({ agentId, settings });
  expect((await admin.json("agents", "list")).items).toMatchObject([{ settings }]);
  expect((await admin.run("agents", "list")).stdout).toContain("anthropic/claude-sonnet-5-5");
  const shown = (await admin.run(...update, "--steps", "6")).stdout;
  for (const line of [
    /^steps +6$/m,
    /^fallback +openai\/gpt-6-luna#max, gemini#low$/m,
    /^cost of a run +at most 0.25 USD$/m,
  ])
    expect(shown).toMatch(line);
  expect(shown).toMatch(/^retention +7 days$/m);

  const flags = [
    "provider",
    "temperature",
    "max-tokens",
    "steps",
    "fallback",
    "max-cost-run",
    "history-tokens",
    "locked",
    "callers",
    "retention-days",
  ];
  const cleared = await admin.json(
    ...update,
    ...flags.flatMap((flag) => [`--${flag}`, "none"]),
    "--response-schema",
    "none",
    "--reasoning",
    "default",
  );
  expect(cleared).toMatchObject({ name: "Desk" });
  expect(cleared["settings"]).toEqual({ model: "claude-sonnet-5-5" });
});

test.each([
  ["--steps", "0", "expected a whole number from 1 to 100, or none"],
  ["--retention-days", "0", "expected a whole number from 1 to 36500, or none"],
  ["--steps", "2.5", "expected a whole number from 1 to 100, or none"],
  ["--temperature", "-1", "expected a number from 0 to 2, or none"],
  ["--max-tokens", "1e3", "expected a whole number from 1 to 1000000, or none"],
  ["--history-tokens", "999", "expected a whole number from 1000 to 1000000, or none"],
  ["--provider", "offline", "expected one of anthropic, openai, gemini, or an endpoint's name, or none"],
  ["--reasoning", "much", "expected one of none, low, medium, high, max, or default"],
  ["--model", "../x", "expected a model name such as gpt-6-luna, or none"],
  ["--fallback", "openai,Mistral/x", "expected up to five from anthropic, openai, gemini"],
  ["--max-cost-run", "0.0000001", "expected US dollars above 0, at most 10000, with up to six decimals"],
  ["--max-cost-run", "0", "expected US dollars above 0, at most 10000, with up to six decimals"],
  ["--locked", "steps", "expected names separated by commas, from model, temperature"],
])("%s %s is refused with the expected value", async (flag, text, expected) => {
  const update = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  for (const option of settingsOptions()) update.addOption(option);
  update.parse([flag, text], { from: "user" });

  const refuse = (message: string): never => update.error(message);

  await expect(settingsChange(update.opts(), refuse)).rejects.toThrow(expected);
});

test("an invalid response schema is refused with the place of its fault, an unreadable file with its path", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const file = join(admin.folder, "answer.json");
  await writeFile(file, '{"type":"object","properties":{"total":{"type":"money"}}}');

  const [wrong, missing] = [
    await admin.run("agents", "update", agentId, "--response-schema", file),
    await admin.run("agents", "update", agentId, "--response-schema", "/nowhere.json"),
  ];

  expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining("settings.responseSchema.properties.total") });
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--response-schema /nowhere.json cannot be"),
  });
  expect((await admin.json("agents", "list")).items[0]?.["settings"]).toEqual({});
});

test("PATCHBAY_MODEL does not become a setting of an agent", async () => {
  await using admin = await administration({ env: { PATCHBAY_MODEL: "gpt-6-luna", PATCHBAY_PROVIDER: "openai" } });
  const { agentId = "" } = await admin.json("agents", "create", "Desk");

  const { name, settings } = await admin.json("agents", "update", agentId, "--name", "Office");

  expect({ name, settings }).toEqual({ name: "Office", settings: {} });
});

test("a model without a price is refused in a paying organisation, unless --prices has one", async () => {
  await using admin = await administration();
  const { orgId = "" } = await admin.json("orgs", "create", "Acme", "--tier", "starter");
  const { agentId = "" } = await admin.json("agents", "create", "Desk", "--org", orgId);
  const file = join(admin.folder, "prices.json");
  await writeFile(file, JSON.stringify({ models: { "llama-next": { input: 1, output: 2 } } }));

  const refused = await admin.run("agents", "update", agentId, "--model", "llama-next");
  const taken = await admin.json("agents", "update", agentId, "--model", "llama-next", "--prices", file);

  expect(refused.code).toBe(1);
  expect(refused.stderr).toMatch(/No price is known for model llama-next.*--prices/);
  expect(taken).toMatchObject({ settings: { model: "llama-next" } });
});

test("with --providers, an endpoint that the file lacks and a model that it does not list are refused", async () => {
  await using admin = await administration();
  const { agentId = "" } = await admin.json("agents", "create", "Desk");
  const file = join(admin.folder, "providers.json");
  const local = { name: "local", provider: "openai", baseUrl: "http://127.0.0.1:9/v1", models: { qwen3: {} } };
  await writeFile(file, JSON.stringify({ endpoints: [local] }));
  const update = (...settings: string[]) => admin.run("agents", "update", agentId, ...settings, "--providers", file);

  const [gone, model, taken] = [
    await update("--provider", "gone"),
    await update("--provider", "local", "--model", "qwen4"),
    await update("--provider", "local", "--model", "qwen3"),
  ];

  expect([gone.code, model.code, taken.code]).toEqual([1, 1, 0]);
  expect(gone.stderr).toContain("Endpoint gone is not configured for this organisation");
  expect(model.stderr).toContain("Endpoint local offers only qwen3");
});

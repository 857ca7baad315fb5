import { startStandIn } from "@patchbay/test-support/providers";
import { afterAll, expect, test } from "vitest";
import { describeConsole } from "./support/desk-console.ts";
import { choose, expectAccessible, settled } from "./support/page-checks.ts";

const providers = { offline: true, openai: { apiKey: "key", api: "chat" }, default: { provider: "offline" } } as const;

describeConsole("model settings in the console", { providers }, (suite) => {
  const stored = async () => (await suite.desk.store.accounts.getAgent(suite.desk.agentId))?.settings;

  test("an owner changes them, sees faults at their fields, and a run shows the settings that it used", async () => {
    const { desk } = suite;
    // The API rejects the model name.
    const { page } = await suite.visit({ expects: [/^400 PATCH /] });
    const models = page.waitForResponse(/\/api\/models/);
    await page.goto(`${desk.agentPath}/settings`);
    await settled(page);
    await models;
    const form = page.getByRole("region", { name: "Model" });
    const save = form.getByRole("button", { name: "Save model settings" });

    await form.getByRole("textbox", { name: "Max tokens" }).fill("0");
    await form.getByText("Enter a whole number from 1 to 1,000,000.").waitFor();
    expect(await save.isDisabled()).toBe(true);
    await form.getByRole("textbox", { name: "Max tokens" }).fill("900");
    await form.getByLabel("Steps").fill("5");
    await form.getByLabel("Cost cap in USD").fill("0.5");
    await form.getByRole("button", { name: "Add fallback model" }).click();
    // The first configured provider; the others are not offered.
    await form.getByLabel("Fallback 1 provider").click();
    await expect.poll(() => page.getByRole("option").allInnerTexts()).toEqual(["OpenAI"]);
    await page.getByRole("option", { name: "OpenAI" }).press("Enter");
    await form.getByLabel("Fallback 1 model").fill("not a name");
    await form.getByRole("checkbox", { name: "Max tokens" }).click();
    await expectAccessible(page);

    await save.click();
    await form.getByText(/^Model 1: must be a model name/).waitFor();
    expect(await stored()).toEqual({});
    await form.getByLabel("Fallback 1 model").fill("gpt-6-luna");
    await form.getByLabel("Fallback 1 model").press("Tab"); // closes the suggestions
    await choose(form.getByLabel("Fallback 1 reasoning"), "high");
    await save.click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await stored()).toEqual({
      maxTokens: 900,
      steps: 5,
      maxCostUsd: 0.5,
      fallback: [{ provider: "openai", model: "gpt-6-luna", reasoning: "high" }],
      locked: ["maxTokens"],
    });

    await form.getByRole("button", { name: "Remove fallback 1" }).click();
    await form.getByLabel("Steps").fill("");
    await save.click();
    await expect.poll(stored).toEqual({ maxTokens: 900, maxCostUsd: 0.5, locked: ["maxTokens"] });

    const { runId } = await desk.query("What is 12 * (3 + 4)?");
    await page.goto(`${desk.agentPath}/runs/${runId}`);
    await settled(page);
    const used = page.getByRole("region", { name: "Model settings" });
    await expect.poll(() => used.getByText(/^(900|25|\$0\.50)$/).allInnerTexts()).toEqual(["900", "25", "$0.50"]);
  });

  test("an owner requires the tokens of callers", async () => {
    const { desk } = suite;
    const page = await suite.open(`${desk.agentPath}/settings`);
    await choose(page.getByLabel("Caller tokens"), "Required with every request");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await stored()).toMatchObject({ callers: "required" });
  });

  test("an owner accepts tokens without a key, and lists the claims that functions receive", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/settings`);
    await choose(page.getByLabel("Caller tokens"), "Enough without a key");
    await page.getByLabel("Claims for functions").fill("email, department");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await stored()).toMatchObject({ callers: "keyless", callerClaims: ["email", "department"] });
  });

  test("an owner keeps the runs of an agent for fewer days, sees a fault, and returns to the default", async () => {
    const { desk } = suite;
    const page = await suite.open(`${desk.agentPath}/settings`);
    const general = page.getByRole("region", { name: "General" });
    const days = general.getByLabel("Retention in days");
    const save = general.getByRole("button", { name: "Save", exact: true });

    await days.fill("0");
    await general.getByText("Enter a whole number from 1 to 36,500.").waitFor();
    expect(await save.isDisabled()).toBe(true);
    await days.fill("7");
    await expectAccessible(page);
    await save.click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await stored()).toMatchObject({ retentionDays: 7 });
    await days.fill("");
    await save.click();
    await expect.poll(stored).not.toHaveProperty("retentionDays");
  });

  test("what an owner edits while a change is saved stays edited", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/settings`);
    const general = page.getByRole("region", { name: "General" });
    const held = Promise.withResolvers<void>();
    await page.route(/\/api\/agents\/[^/]+$/, async (route) => {
      if (route.request().method() === "PATCH") await held.promise;
      await route.continue();
    });
    await general.getByLabel("Name").fill("Renamed desk");
    await general.getByRole("button", { name: "Save", exact: true }).click();
    await general.getByLabel("Retention in days").fill("30");
    held.resolve();

    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await general.getByLabel("Retention in days").inputValue()).toBe("30");
    expect(await general.getByLabel("Name").inputValue()).toBe("Renamed desk");
    await general.getByRole("button", { name: "Save", exact: true }).click();
    await expect.poll(stored).toMatchObject({ retentionDays: 30 });
  });
});

const strictServer = await startStandIn("openai-chat", () => ({ text: "Hello." }), { server: "mistral" });
afterAll(() => strictServer[Symbol.asyncDispose]());

describeConsole("a model server that refuses members", { providers: strictServer.config }, (suite) => {
  test("the agent's settings show the members that the server turned out not to take", async () => {
    const { desk } = suite;
    const leftOut = /the server does not get (.+)/;
    const page = await suite.open(`${desk.agentPath}/settings`);
    const form = page.getByRole("region", { name: "Model" });
    await form.getByLabel("Model", { exact: true }).waitFor();
    expect(await form.getByText(leftOut).count()).toBe(0);

    expect((await desk.query("Hello")).response).toBe("Hello.");
    await page.reload();

    expect(leftOut.exec(await form.getByText(leftOut).innerText())?.[1]).toBe("stream_options");
  });
});

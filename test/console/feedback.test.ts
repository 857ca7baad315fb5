import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { askAround, describeConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { expectAccessible, settled } from "./support/page-checks.ts";

const WIDE = { viewport: { width: 1440, height: 900 } };

describeConsole("feedback on runs", {}, (suite) => {
  test("a member scores, tags and comments a run, changes it, and finds it by score and tag", async () => {
    const { answered } = await askAround(suite.desk);
    const page = await suite.open(`${suite.desk.agentPath}/runs/${answered.runId}?view=feedback`, WIDE);
    await page.getByText("No feedback yet").waitFor();
    await page.getByRole("button", { name: "Bad", exact: true }).click();
    await page.getByLabel("Tags").fill('late, "odd" tag,');
    await page.getByLabel("Comment").fill("The wrong order.");
    await page.getByRole("tab", { name: "Events" }).click();
    await page.getByRole("tab", { name: "Feedback" }).click();
    expect(await page.getByLabel("Comment").inputValue()).toBe("The wrong order.");
    await page.getByRole("button", { name: "Save feedback" }).click();

    const list = page.getByRole("list", { name: "Feedback" });
    await list.getByText("The wrong order.").waitFor();
    expect(await list.innerText()).toMatch(/bad\s+late\s+"odd" tag/);
    await page.getByRole("tab", { name: "Feedback (1)" }).waitFor();
    await expectAccessible(page);

    await page.getByRole("button", { name: "Good", exact: true }).click();
    await page.getByRole("button", { name: "Save feedback" }).click();
    await list.getByText("good", { exact: true }).waitFor();
    expect(await list.getByRole("listitem").count()).toBe(1);

    for (const [search, rows] of [
      ["feedback=good", 1],
      ["feedback=bad", 0],
      ["feedback=any&tag=late", 1],
      ["tag=%22odd%22%20tag", 1],
      ["tag=lat", 0],
    ] as const) {
      await page.goto(`${suite.desk.agentPath}/runs?${search}`);
      await settled(page);
      expect(await page.locator("[data-row-link]").count(), search).toBe(rows);
    }
  });

  test("a member picks a tag in use, reads what is wrong with tags, and removes the feedback", async () => {
    const { answered, denied } = await askAround(suite.desk);
    await suite.desk.post(`/agents/${suite.desk.agentId}/runs/${denied.runId}/feedback`, { score: 0, tags: ["rude"] });
    const page = await suite.open(`${suite.desk.agentPath}/runs/${answered.runId}?view=feedback`, WIDE);
    const tags = page.getByLabel("Tags", { exact: true });
    const save = page.getByRole("button", { name: "Save feedback" });

    await tags.fill(`late, ${"x".repeat(65)}`);
    await page.getByText(/^“x+…” has 65 characters. A tag has at most 64.$/).waitFor();
    expect(await save.isDisabled()).toBe(true);
    await tags.fill(Array.from({ length: 21 }, (_, at) => at).join());
    await page.getByText("Enter at most 20 tags. These are 21.").waitFor();
    await tags.fill("late");
    await page.getByRole("group", { name: "Tags in use" }).getByRole("button", { name: "rude" }).click();
    expect(await tags.inputValue()).toBe("late, rude");
    await save.click();
    await page.getByRole("tab", { name: "Feedback (1)" }).waitFor();

    await page.getByRole("button", { name: "Remove feedback" }).click();
    await page.getByText("No feedback yet").waitFor();
    await expect.poll(() => tags.inputValue()).toBe("");
    expect(await page.getByRole("button", { name: "Remove feedback" }).count()).toBe(0);
    await page
      .locator("button:focus")
      .and(page.getByRole("button", { name: "Good", exact: true }))
      .waitFor();

    await page.goto(`${suite.desk.agentPath}/runs?feedback=neutral`);
    await settled(page);
    expect(await page.locator("[data-row-link]").count()).toBe(1);
  });

  test("runs with bad feedback are downloaded as test files", async () => {
    const { answered } = await askAround(suite.desk);
    const page = await suite.open(`${suite.desk.agentPath}/runs/${answered.runId}?view=feedback`, WIDE);
    await page.getByRole("button", { name: "Bad", exact: true }).click();
    await page.getByRole("button", { name: "Save feedback" }).click();
    await page.getByRole("list", { name: "Feedback" }).getByText("bad", { exact: true }).waitFor();

    await page.goto(`${suite.desk.agentPath}/runs?feedback=bad`);
    await settled(page);
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: /^Test files.*1 test$/ }).waitFor();
    const downloading = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: /^Test files/ }).click();
    const download = await downloading;
    const { stdout } = await promisify(execFile)("tar", ["-tf", await download.path()]);

    expect(download.suggestedFilename()).toBe(`tests-${suite.desk.agentId}.tar`);
    const name = /what-is-the-status-of-order-[\w-]+/.source + answered.runId;
    expect(stdout).toMatch(new RegExp(`^${name}\\.json\n${name}\\.test\\.ts\n$`));

    await page.goto(`${suite.desk.agentPath}/runs?role=customer&q=status`);
    await settled(page);
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: /^Test files.*\d tests?, \d needs? an edit$/ }).waitFor();
    await page.goto(`${suite.desk.agentPath}/runs?role=unheard-of`);
    await settled(page);
    await page.getByRole("button", { name: "Export" }).click();
    const disabled = page.getByRole("menuitem", { name: /^Test files.*No runs match\.$/ });
    await disabled.waitFor();
    expect(await disabled.getAttribute("aria-disabled")).toBe("true");
  });

  test("a viewer reads feedback and cannot give it", async () => {
    const { answered } = await askAround(suite.desk);
    const storageState = await memberState(suite.desk, suite.desk.orgId, "viewer");
    const page = await suite.open(`${suite.desk.agentPath}/runs/${answered.runId}?view=feedback`, {
      ...WIDE,
      storageState,
    });

    await page.getByRole("button", { name: "Good", exact: true }).click();
    expect(await page.getByRole("button", { name: "Save feedback" }).isDisabled()).toBe(true);
  });
});

import { hostname } from "node:os";
import { expect, test } from "vitest";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, sidewaysScroll } from "./support/page-checks.ts";
import { edgesOf } from "./support/rows.ts";

describeConsole("names instead of ids", {}, (suite) => {
  test("a run and the audit log name the key by its label, which leads to the key; one without a label by its id", async () => {
    const { admin, agentId, agentPath, keyId, url } = suite.desk;
    const { secret, credentialId } = await admin.credentials.create("api", { agentId, label: "Web shop" });
    const send = async (key: string) => {
      const response = await fetch(`${url}/agents/${agentId}/query`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: '{"query":"What is 12 * (3 + 4)?"}',
      });
      return ((await response.json()) as { runId: string }).runId;
    };
    const [named, unnamed] = [await send(secret), await send(suite.desk.apiKey)];

    const page = await suite.open(`${agentPath}/runs/${unnamed}`);
    await page.getByRole("region", { name: "Request" }).getByText(keyId).waitFor();
    await page.goto(`/console/audit?runId=${named}`);
    await page.getByRole("row").filter({ hasText: "was accepted" }).getByText("Web shop").waitFor();
    await page.goto(`${agentPath}/runs/${named}`);
    await page.getByRole("region", { name: "Request" }).getByRole("link", { name: "Web shop" }).click();
    await page.getByRole("dialog", { name: "Web shop" }).waitFor();
    await page.keyboard.press("Escape");

    // After a rotation both keys have this label, and the old one shows its end.
    await admin.credentials.rotate("api", credentialId, { overlapMs: 12 * 3_600_000 });
    await page.goto(`${agentPath}/keys`);
    const rows = page.getByRole("table", { name: "API keys" }).getByRole("row").filter({ hasText: "Web shop" });
    await rows.filter({ hasText: /ends\s+in \d+ h/ }).waitFor();
    expect(await rows.filter({ hasText: "active" }).count()).toBe(1);
  });

  test.each(
    edgesOf([
      [390, "light"],
      [1024, "dark"],
      [1280, "light"],
      [1440, "dark"],
    ]),
  )("a runtime has the name of its host and its service at %i px, %s", async (width, colorScheme) => {
    const page = await suite.open(`${suite.desk.agentPath}/runtimes`, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    await page.getByText(hostname(), { exact: true }).first().waitFor();
    await page.getByText("unnamed", { exact: true }).first().waitFor();

    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });

  test("the overview names the host and the service of a runtime", async () => {
    const page = await suite.open(suite.desk.agentPath);
    await page.getByText(`${hostname()} · retail`).waitFor();
  });
});

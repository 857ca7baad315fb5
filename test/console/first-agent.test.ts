import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCommand, temporaryFolder, type Running } from "../../packages/cli/test/support/command.ts";
import { hasBrowser, PICTURES, visit } from "../support/browser.ts";
import { runCurl, shellEnvironment } from "./support/commands.ts";
import { builtConsole } from "./support/desk-console.ts";
import { expectAccessible } from "./support/page-checks.ts";

const desk = fileURLToPath(new URL("../../examples/retail-desk/", import.meta.url));

describe.skipIf(!hasBrowser)("from `patchbay dev` to an agent's first query", () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());
  let service: { baseUrl: string; consoleUrl: string };
  /** In the clone, so that the file of the page finds the packages. */
  let folder: string;

  beforeAll(async () => {
    await builtConsole();
    folder = await mkdtemp(`${PICTURES}first-service-`);
    stack.defer(() => rm(folder, { recursive: true }));
    const data = stack.use(await temporaryFolder());
    const args = ["dev", `${desk}service.ts`, "--port", "0", "--json", "--no-watch", "--data-dir", data.path];
    const dev: Running = stack.use(startCommand(args));
    service = JSON.parse(await dev.seen(/^\{"ready".*\}$/m)) as typeof service;
  });

  /** Runs the command of a page until the tests end. */
  function start(command: string): void {
    const installed = command.replace("npx patchbay", "patchbay");
    const child: ChildProcess = spawn("sh", ["-c", `exec env ${installed}`], {
      cwd: folder,
      env: shellEnvironment(),
      stdio: "ignore",
    });
    stack.defer(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    });
  }

  test("the console leads to a first query, lists its run live, and revokes the key", async () => {
    const { page } = await visit(new URL(service.consoleUrl).origin);
    await page.goto(service.consoleUrl);

    // Create an agent with its key.
    await page.getByRole("button", { name: "New agent" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Second desk");
    await page.getByRole("button", { name: "Create agent" }).click();
    const created = page.getByRole("dialog", { name: "Second desk is ready" });
    await created.getByRole("button", { name: "Show" }).click();
    const key = await created.getByLabel("API key").innerText();
    const curl = created.getByRole("tabpanel", { name: "curl" }).locator("pre");
    expect(await curl.innerText()).not.toContain(key);
    await created.getByRole("switch", { name: "Insert my key" }).click();
    const query = await curl.innerText();
    expect(query).toContain(key);

    // Save the page's service file, and connect it with the command of a new key.
    await created.getByRole("link", { name: "Connect functions" }).click();
    const steps = page.getByRole("region", { name: "First steps" });
    await steps.getByText("Waiting for a runtime to connect").waitFor();
    // As the README says: nothing can be installed from npm.
    await steps.getByText("npm run pack").waitFor();
    expect(await steps.innerText()).not.toContain("npm install");
    const file = steps.getByRole("region", { name: "Save your functions as its service.ts" }).locator("pre");
    await writeFile(join(folder, "service.ts"), await file.innerText());
    await expectAccessible(page);
    await steps.getByRole("button", { name: "Create runtime key" }).click();
    await steps.getByRole("switch", { name: "Insert my key" }).click();
    start(await steps.getByRole("tabpanel", { name: "Command" }).locator("pre").innerText());
    await steps.getByText("1 function connected").waitFor();
    await steps.getByText("Connect your functions (done)").waitFor();

    // The next step leads to the playground with a query of the service, in its role.
    const ask = steps.getByRole("link", { name: "Ask “What is the status of order A-1001?”" });
    expect(new URL((await ask.getAttribute("href")) ?? "", service.baseUrl).searchParams.get("role")).toBe("support");

    // The open list shows the run of a query.
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Runs" }).click();
    await page.getByText("No runs yet").waitFor();
    const answered = await runCurl(query);
    expect(answered).toMatchObject({
      status: 200,
      body: expect.stringContaining('"type":"finalResponse"') as string,
    });
    await page.getByRole("link", { name: /What can you do\?/ }).click();
    const waterfall = page.getByRole("treegrid", { name: "Waterfall" });
    await waterfall
      .getByRole("row", { name: /What can you do\?|query/i })
      .first()
      .waitFor();

    // The page no longer contains the secret, and it stops working when it is revoked.
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Keys" }).click();
    const keys = page.getByRole("table", { name: "API keys" });
    await keys.getByText("active").waitFor();
    expect(await page.content()).not.toContain(key);
    await keys.locator("[data-row-link]").click();
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke API key" }).click();
    await page.getByText(/^Revoked /).waitFor();
    await page.keyboard.press("Escape");
    await keys.getByText("revoked").waitFor();
    const refused = await runCurl(query);
    expect(refused).toMatchObject({ status: 401, body: expect.stringContaining("Authentication failed") as string });
  });
});

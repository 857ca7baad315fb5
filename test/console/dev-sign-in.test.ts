import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCommand, temporaryFolder, type Running } from "../../packages/cli/test/support/command.ts";
import { serviceSource } from "../../packages/cli/test/support/service-source.ts";
import { hasBrowser, visit } from "../support/browser.ts";
import { builtConsole } from "./support/desk-console.ts";
import { expectAccessible } from "./support/page-checks.ts";

const LINK = /http:\/\/127\.0\.0\.1:\d+\/console\/link#[0-9A-Za-z]{43}/;

describe.skipIf(!hasBrowser)("signing in to `patchbay dev`", () => {
  const stack = new AsyncDisposableStack();
  afterAll(() => stack.disposeAsync());
  let dev: Running;

  beforeAll(async () => {
    await builtConsole();
    const folder = stack.use(await temporaryFolder());
    await writeFile(join(folder.path, "service.ts"), serviceSource());
    dev = stack.use(startCommand(["dev", "--port", "0", "--no-watch"], { cwd: folder.path, terminal: true }));
    await dev.seen("c quit");
  });

  test("the sign-in page names the keys, and a new link leads to the page that was asked for", async () => {
    const { origin } = new URL(await dev.seen(LINK));
    const { page, newPage } = await visit(origin, { expects: [/^401 GET \/api\/session$/] });
    await page.goto("/console/audit?action=member");
    await page
      .getByText("In the terminal of patchbay dev, press o to open a sign-in link, or l to print one.")
      .waitFor();
    await expectAccessible(page);

    dev.type("l");
    const printed = await dev.seen(new RegExp(`c quit[^]*Open ${LINK.source}`));
    const tab = await newPage();
    await tab.goto(LINK.exec(printed.slice(printed.lastIndexOf("Open ")))?.[0] ?? "");

    await tab.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
    expect(new URL(tab.url()).searchParams.get("action")).toBe("member");
  });
});

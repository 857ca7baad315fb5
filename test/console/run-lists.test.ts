import type { Page } from "playwright-core";
import { expect, test, vi } from "vitest";
import { askAround, describeConsole, type DeskConsole } from "./support/desk-console.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";
import { ending, sampleRequest, sampleRun, sampleTurn } from "../../packages/store/test/contract/world.ts";
import { endedRun } from "./support/runs.ts";

async function prepare(desk: DeskConsole): Promise<void> {
  await askAround(desk);
  await endedRun(desk, "A cheap one", 1_000);
  await endedRun(desk, "The dearest one", 9_000_000);
}

const at = (width: number) => ({ viewport: { width, height: 800 } });

describeConsole("lists of runs", { prepare }, (suite) => {
  const runsPath = (): string => `${suite.desk.agentPath}/runs`;

  /** Ticks or unticks a column in the menu. */
  async function toggleColumns(page: Page, ...names: string[]): Promise<void> {
    await page.getByRole("button", { name: "Sort and columns" }).click();
    for (const name of names) await page.getByRole("menuitemcheckbox", { name, exact: true }).click();
    await page.keyboard.press("Escape");
  }

  /** The visible heads of a table, or the names of values in its first card. */
  const shown = (page: Page) =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll(innerWidth < 640 ? 'tbody tr:first-child td > span[aria-hidden]' : 'thead th')].filter((one) => one.getClientRects().length > 0).map((one) => one.innerText.trim()).filter((text) => text !== '')",
    );

  /** The narrowest visible part of a query's text, in pixels. */
  const queryWidth = (page: Page) =>
    page.evaluate<number>(
      "Math.min(...[...document.querySelectorAll('[data-row-link] .font-medium:not([data-hint] *)')].map((one) => Math.min(one.getBoundingClientRect().right, innerWidth) - one.getBoundingClientRect().left))",
    );

  test("chosen columns are shown at every width, next to readable queries", async () => {
    const page = await suite.open(runsPath(), at(1280));
    await toggleColumns(page, "Model", "Key", "Session");
    for (const width of [1920, 1280, 1024, 768, 640, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await settled(page);
      expect(await shown(page), `at ${width}`).toEqual(
        expect.arrayContaining(["Source", "Model", "Key", "Session", "Calls", "Duration", "Tokens", "Cost", "Age"]),
      );
      expect(await queryWidth(page), `pixels of a query at ${width}`).toBeGreaterThan(60);
      expect(await sidewaysScroll(page), `horizontal scrolling at ${width}`).toBe(0);
    }
  });

  test("the filters have one line at 1440 px", async () => {
    const page = await suite.open(runsPath(), at(1440));
    await settled(page);
    expect((await page.getByRole("search").boundingBox())!.height).toBeLessThan(50);
  });

  test("the menu of columns ticks those that the cards of a narrow screen show", async () => {
    const page = await suite.open(runsPath(), at(390));
    await page.getByRole("button", { name: "Sort and columns" }).click();
    const ticked = () => page.getByRole("menuitemcheckbox", { checked: true }).allInnerTexts();
    await expect.poll(ticked).toEqual(await shown(page));
    await page.getByRole("menuitemcheckbox", { name: "Cost" }).click();
    await expect.poll(() => shown(page)).toContain("Cost");
    await expect.poll(ticked).toEqual(await shown(page));
  });

  test("a list that is sorted by cost shows the cost at every width", async () => {
    const page = await suite.open(`${runsPath()}?sort=-costUsd`, at(1280));
    for (const width of [1280, 1024, 768, 640, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await settled(page);
      expect(await shown(page), `at ${width}`).toContain("Cost");
      expect(await sidewaysScroll(page), `horizontal scrolling at ${width}`).toBe(0);
    }
  });

  test("a filter that is added from the menu has the focus and shows its choices", async () => {
    const page = await suite.open(runsPath(), at(1280));
    const add = async (name: string) => {
      await page.getByRole("button", { name: "Filter", exact: true }).click();
      await page.getByRole("menuitem", { name, exact: true }).click();
    };
    await add("Cost");
    await page.getByRole("option", { name: "at least $1.00" }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get("minCostUsd")).toBe("1");

    await add("Model");
    await page.getByRole("option", { name: "grand" }).waitFor();
    await page.keyboard.press("Escape");
    await add("Thread");
    const focused = () => page.evaluate<string>("document.activeElement?.getAttribute('aria-label') ?? ''");
    await expect.poll(focused).toBe("Thread");
  });

  test("a text filter is applied with Enter, on a choice and on blur, and not while typing", async () => {
    const page = await suite.open(`${runsPath()}?role=agent`, at(1280));
    const asked: string[] = [];
    page.on("request", (request) => void (/\/runs\?/.test(request.url()) && asked.push(request.url())));
    const field = page.getByRole("combobox", { name: "Role" });
    const role = () => new URL(page.url()).searchParams.get("role");

    await field.fill("customer");
    await page.getByRole("option", { name: "customer", exact: true }).waitFor();
    await field.press("Backspace");
    await page.getByRole("option", { name: "customer", exact: true }).click();
    await expect.poll(role).toBe("customer");
    // Longer than the pause after which a search is sent.
    await field.pressSequentially("-eu", { delay: 400 });
    await field.press("Enter");
    await expect.poll(role).toBe("customer-eu");
    await field.pressSequentially("-1", { delay: 400 });
    await field.press("Tab");
    await expect.poll(role).toBe("customer-eu-1");
    await field.fill("agen");
    await field.press("ArrowDown");
    await field.press("Enter");
    await expect.poll(role).toBe("agent");
    await settled(page);

    // The list of the first role is in the cache, or fetched again once it is out of date.
    const roles = asked.map((url) => new URL(url).searchParams.get("role")).filter((role) => role !== "agent");
    expect([...new Set(roles)]).toEqual(["customer", "customer-eu", "customer-eu-1"]);
  });

  test("a search without words says why it finds nothing", async () => {
    for (const q of ["😀 %", "a word of no run"]) {
      const page = await suite.open(`${runsPath()}?q=${encodeURIComponent(q)}`, at(1280));
      await page.getByText("No matching runs").waitFor();
      const reason = page.getByText(`Search finds words and numbers. “${q}” has none.`);
      expect(await reason.count()).toBe(q === "😀 %" ? 1 : 0);
    }
  });

  test("a model without a price has no cost, and a query that named no model shows its provider", async () => {
    const { store, orgId, agentId } = suite.desk;
    const request = sampleRequest({ query: "Priceless", provider: "openai", model: "in-house" });
    const started = await store.runs.start(sampleRun({ orgId, agentId, request }));
    if (started.kind !== "started") throw new Error(started.kind);
    await store.runs.commit(started.run, { turn: { ...sampleTurn(0), provider: "openai", model: "in-house" } });
    await store.runs.commit(started.run, ending(started.run, "Done."));
    const refused = sampleRequest({ query: "Nameless", provider: "anthropic", model: "" });
    const other = await store.runs.start(sampleRun({ orgId, agentId, request: refused }));
    if (other.kind !== "started") throw new Error(other.kind);
    await store.runs.commit(other.run, ending(other.run, "Done."));
    const page = await suite.open(`${runsPath()}?q=priceless`, at(1440));

    const cost = page.getByRole("row", { name: /Priceless/ }).getByText("no price", { exact: true });
    // A list that still loads moves the row away from the pointer.
    await vi.waitFor(async () => {
      await page.mouse.move(0, 0);
      await cost.hover();
      await page.getByRole("tooltip").getByText("The model's price is not known").waitFor({ timeout: 2_000 });
    });
    await page.goto(`${suite.desk.agentPath}/analytics`);
    await page
      .getByRole("row", { name: /^in-house/ })
      .getByText("no price", { exact: true })
      .waitFor();
    const tile = page.locator("dl > div").filter({ hasText: "Model cost" });
    await tile.getByText("1 model without a price").waitFor();
    await page.goto(`${runsPath()}/${other.run.runId}`);
    await page.locator("header").getByText("anthropic", { exact: true }).waitFor();
  });

  test("an unknown value in the address is dropped", async () => {
    const page = await suite.open(`${runsPath()}?minCostUsd=abc&status=bogus&sort=worst&model=grand`, at(1280));
    await page.getByRole("group", { name: "All matching runs" }).getByText("2 runs").waitFor();
    await page.getByRole("button", { name: "Clear filter", exact: true }).waitFor();
    expect(await page.getByRole("combobox", { name: "Status" }).innerText()).toBe("Status: any");
  });

  test("the sums of the earlier filter are marked until those of the new one are loaded", async () => {
    const page = await suite.open(`${runsPath()}?model=grand`, at(1280));
    const sums = page.getByRole("group", { name: "All matching runs" });
    await sums.getByText("2 runs").waitFor();
    const held = Promise.withResolvers<void>();
    await page.route(/run-totals/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole("button", { name: "Clear filter", exact: true }).click();

    await expect.poll(() => sums.getAttribute("aria-busy")).toBe("true");
    expect(await sums.innerText()).toContain("2 runs");
    held.resolve();
    await expect.poll(() => sums.getAttribute("aria-busy")).toBe("false");
    expect(await sums.innerText()).not.toContain("2 runs");
  });

  test("a view replaces one of the same name, shows that it is shared, and Back leaves it", async () => {
    const name = `Dear ones ${"and more ".repeat(10)}`.trim();
    const page = await suite.open(`${runsPath()}?model=grand&sort=-costUsd`, at(1280));
    const save = async (button: string) => {
      await page.getByRole("button", { name: "Views" }).click();
      await page.getByRole("menuitem", { name: "Save this view" }).click();
      const dialog = page.getByRole("dialog", { name: "Save this view" });
      await dialog.getByRole("textbox", { name: "Name" }).fill(name);
      await dialog.getByRole("checkbox", { name: "Share with all members" }).click();
      await dialog.getByRole("button", { name: button, exact: true }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await save("Save");
    await page.goto(`${runsPath()}?model=grand&sort=costUsd`);
    await save("Replace");

    await page.goto(`${runsPath()}?status=failed`);
    await page.getByRole("button", { name: "Views" }).click();
    const item = page.getByRole("menuitem", { name: /^Dear ones/ });
    await item.getByText("shared", { exact: true }).waitFor();
    expect(await item.count()).toBe(1);
    expect((await page.getByRole("menu").boundingBox())!.width).toBeLessThan(340);
    await item.click();
    await expect.poll(() => new URL(page.url()).search).toContain("sort=costUsd");
    await page.goBack();
    await expect.poll(() => new URL(page.url()).search).toBe("?status=failed");
  });

  test("cards of narrow screens are selected and added up", async () => {
    const page = await suite.open(runsPath(), at(390));
    const boxes = page.getByRole("checkbox", { name: "Select the row" });
    await boxes.nth(0).click();
    await boxes.nth(1).click();
    const selected = page.getByRole("group", { name: "Selected runs" });
    await selected.getByText("2 selected").waitFor();
    await page.getByRole("checkbox", { name: `Select the ${await boxes.count()} loaded runs` }).click();
    await selected.getByText(`${await boxes.count()} selected`).waitFor();
    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });
});

import { expect, test } from "vitest";
import { pendingOrder, retailRecords } from "../support/retail.ts";
import { parseSse } from "@patchbay/test-support/sse";
import { runCurl } from "./support/commands.ts";
import { describeConsole } from "./support/desk-console.ts";
import { expectAccessible, sidewaysScroll } from "./support/page-checks.ts";
import { edgesOf } from "./support/rows.ts";

const email = retailRecords.users[pendingOrder.ownerId]?.email ?? "";

describeConsole("the playground", {}, (suite) => {
  async function open(search = "") {
    const { page } = await suite.visit({ viewport: { width: 1600, height: 1000 } });
    await page.goto(`${suite.desk.agentPath}/playground${search}`);
    const conversation = page.getByRole("list", { name: "Conversation" });
    return {
      page,
      conversation,
      async ask(query: string) {
        await page.getByRole("textbox", { name: "Query" }).fill(query);
        await page.getByRole("button", { name: "Send" }).click();
      },
    };
  }

  test("streams an answer with its call and events, and a thread continues from its page", async () => {
    const { page, conversation, ask } = await open("?role=agent");

    await ask(`What is the status of order ${pendingOrder.orderId}?`);

    await conversation.getByText("get_order_details", { exact: true }).waitFor();
    await conversation.getByText(`pending (${pendingOrder.orderId})`).waitFor();
    await conversation.getByRole("link", { name: "Waterfall" }).waitFor();
    const events = page.getByRole("tabpanel", { name: "Events" });
    for (const type of ["toolCall", "toolResult", "responseDelta", "finalResponse"])
      await events.getByText(type, { exact: true }).first().waitFor();

    await page.getByRole("link", { name: "Open thread" }).click();
    await page.getByRole("heading", { level: 1, name: pendingOrder.orderId }).waitFor();
    await page.getByRole("link", { name: "Continue in playground" }).click();
    await conversation.getByText(`pending (${pendingOrder.orderId})`).waitFor();
    await ask("What is 12 * (3 + 4)?");
    await conversation.getByText("84").first().waitFor();
    const { items } = (await suite.desk
      .get(`/agents/${suite.desk.agentId}/threads`)
      .then((answer) => answer.json())) as {
      items: unknown[];
    };
    expect(items).toHaveLength(1);
  });

  test("offers the service's example queries, each with its role and context", async () => {
    const { page, conversation } = await open();
    const examples = page.getByRole("list", { name: "Example queries" }).getByRole("button");
    await expect.poll(() => examples.count()).toBe(6);

    await examples.filter({ hasText: "What is my address?" }).click();
    const field = page.getByRole("textbox", { name: "Context" });
    await expect.poll(() => field.inputValue()).toContain("customerId");
    const context = await field.inputValue();
    await page.getByRole("button", { name: "Send" }).click();

    // Only as a customer with that id may the query read the account.
    const { customerId } = JSON.parse(context) as { customerId: string };
    await conversation.getByText(`(${customerId})`).waitFor();
  });

  test("compares two roles and marks the call that only one of them may make", async () => {
    const { page, conversation, ask } = await open("?compare=1&role=agent&role2=customer");

    await ask(`What is the user id of ${email}?`);

    await page.getByText("Differences are highlighted").waitFor();
    const call = conversation.getByText("find_user_id_by_email", { exact: true });
    await expect.poll(() => call.count()).toBe(1);
    await expect.poll(() => conversation.getByText("as agent").count()).toBe(1);
    await expect.poll(() => conversation.getByText(pendingOrder.ownerId).count()).toBeGreaterThan(0);

    await page.waitForURL(({ searchParams }) => searchParams.has("thread") && searchParams.has("thread2"));
    await page.reload();
    await page.getByText("Differences are highlighted").waitFor();
    await expect.poll(() => conversation.getByText("as agent").count()).toBe(1);
  });

  test("compares two customers, each lane with its own context, and Enter sends", async () => {
    const contextJson = encodeURIComponent(JSON.stringify({ customerId: pendingOrder.ownerId }));
    const { page, conversation } = await open(
      `?compare=1&role=customer&role2=customer&context=${contextJson}&tab=settings`,
    );
    const laneB = page.getByRole("group", { name: "Lane B" });
    await laneB.getByRole("textbox", { name: "Lane B context" }).fill('{"customerId": "someone_else"}');
    await laneB.getByRole("combobox", { name: "Lane B provider" }).click();
    await page.getByRole("option", { name: "As the agent" }).press("Enter");
    await page.waitForURL(({ searchParams }) => searchParams.get("provider2") === "agent");
    const field = page.getByRole("textbox", { name: "Query" });

    await field.fill("Thank you,");
    await field.press("Shift+Enter");
    expect(await field.inputValue()).toBe("Thank you,\n");
    await field.fill(`What is the status of order ${pendingOrder.orderId}?`);
    await field.press("Enter");

    await page.getByText("Differences are highlighted").waitFor();
    await conversation.getByText("different outcome").first().waitFor();
    await conversation.getByText(`pending (${pendingOrder.orderId})`).waitFor();
    await conversation.getByText("Not permitted: customers may use only their own orders.").first().waitFor();
  });

  test("each lane has its own instructions, and a run opens as it was", async () => {
    const { page, ask } = await open("?compare=1&role=agent&role2=agent&tab=settings");
    await page.getByRole("textbox", { name: "Instructions", exact: true }).fill("Be brief.");
    await page.getByRole("textbox", { name: "Lane B instructions" }).fill("x".repeat(20_001));
    await page.getByText("Enter at most 20,000 characters.").waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    await page.getByRole("textbox", { name: "Lane B instructions" }).fill("Be long.");
    await ask(`What is the status of order ${pendingOrder.orderId}?`);
    await page.getByText("Same calls with the same results").waitFor();
    const heads = page.getByRole("heading", { level: 3 });
    const instructed = () => heads.filter({ hasText: "own instructions" }).count();
    expect(await instructed()).toBe(2);
    await page.reload();
    await page.getByText("Same calls with the same results").waitFor();
    await expect.poll(() => heads.filter({ hasText: "offline" }).count()).toBe(2);
    await expect.poll(instructed).toBe(2);
    const links = page.getByRole("link", { name: "Waterfall" });
    await expect.poll(() => links.count()).toBe(2);
    const runs = await links.all();
    const ids = await Promise.all(runs.map(async (link) => (await link.getAttribute("href"))!.split("/").at(-1)!));
    const systems = await Promise.all(
      ids.map(async (id) => (await suite.desk.store.runs.get(suite.desk.agentId, id))!.request.system),
    );
    expect(systems.map((system) => [system.includes("Be brief."), system.includes("Be long.")])).toEqual([
      [true, false],
      [false, true],
    ]);

    await page.goto(`${suite.desk.agentPath}/playground?again=${ids[1]}&tab=settings`);
    const original = page.getByRole("region", { name: "Original run" });
    await original.getByText("get_order_details", { exact: true }).waitFor();
    await original.getByText(`pending (${pendingOrder.orderId})`).waitFor();
    const instructions = page.getByRole("textbox", { name: "Instructions", exact: true });
    await expect.poll(() => instructions.inputValue()).toBe("Be long.");
    await expect.poll(() => page.getByRole("combobox", { name: "Role" }).inputValue()).toBe("agent");
    await page.getByRole("textbox", { name: "Query" }).press("Enter");
    await page.getByRole("list", { name: "Conversation" }).getByText(`pending (${pendingOrder.orderId})`).waitFor();
    await original.waitFor({ state: "detached" });
  });

  test("a follow-up query opens with a notice that its thread's earlier messages are not included", async () => {
    const { threadId } = await suite.desk.query("What is 2 + 2?");
    const { runId } = await suite.desk.query("What is 3 + 4?", { threadId });
    const { page } = await open(`?again=${runId}`);

    const original = page.getByRole("region", { name: "Original run" });
    await original.getByText(/earlier messages of this thread/).waitFor();
    await original.getByRole("link", { name: "Open thread" }).click();
    await page.getByText("What is 2 + 2?").first().waitFor();
  });

  test.each(
    edgesOf([
      [390, "light"],
      [1024, "dark"],
      [1440, "light"],
      [1440, "dark"],
    ]),
  )("its settings and a comparison are accessible at %i px, %s", async (width, colorScheme) => {
    const page = await suite.open(`${suite.desk.agentPath}/playground?compare=1&tab=settings&provider2=openai`, {
      viewport: { width, height: 900 },
      colorScheme,
    });
    await page.getByRole("textbox", { name: "Lane B instructions" }).waitFor();

    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });

  test("events have the service's times once the run has ended, as on the run page", async () => {
    const { page, conversation, ask } = await open("?role=agent&tab=events");
    await ask(`What is the status of order ${pendingOrder.orderId}?`);
    await conversation.getByRole("link", { name: "Waterfall" }).waitFor();
    const rows = page.getByRole("tabpanel", { name: "Events" }).getByRole("listitem").filter({ hasText: /#\d/ });
    await rows
      .filter({ hasText: "finalResponse" })
      .getByText(/\d m?s/)
      .waitFor();
    const times = await rows.locator("summary > span:first-of-type").allInnerTexts();
    const shown = times.filter((time) => time !== ""); // parts of texts are not in the log

    await conversation.getByRole("link", { name: "Waterfall" }).click();
    // The playground, shown until the page of the run is loaded, has such a tab too.
    await page.getByRole("treegrid", { name: "Waterfall" }).waitFor();
    await page.getByRole("tab", { name: "Events" }).click();
    const log = page.getByRole("tabpanel", { name: "Events" }).locator("summary > span:first-of-type");
    await log.first().waitFor();

    await expect.poll(async () => (await log.allInnerTexts()).map((text) => text.replace("+", ""))).toEqual(shown);
  });

  test("a provider that is not configured is offered nowhere, and marked where a link selects it", async () => {
    const { page } = await open("?tab=settings&provider=anthropic");
    await page.getByText("Anthropic (not configured)").waitFor();

    await page.getByRole("combobox", { name: "Provider" }).click();
    const options = () => page.getByRole("option").allInnerTexts();
    await expect.poll(options).toEqual(["As the agent", "Anthropic (not configured)"]);
    await page.getByRole("option", { name: "As the agent" }).press("Enter");
    await page.getByRole("combobox", { name: "Provider" }).click();
    await expect.poll(options).toEqual(["As the agent"]);
  });

  test("the field has the focus on arrival", async () => {
    const { page } = await suite.visit({ viewport: { width: 1600, height: 1000 } });
    await page.goto(`${suite.desk.agentPath}/runs`);
    await page.getByRole("link", { name: "Playground" }).first().click();
    await page.getByRole("textbox", { name: "Query" }).waitFor();

    await page.waitForFunction(() => {
      const { document } = globalThis as unknown as { document: { activeElement: { ariaLabel: string | null } } };
      return document.activeElement.ariaLabel === "Query";
    });
  });

  test("shows a denied call with the reason of the owner", async () => {
    const { conversation, ask } = await open("?role=customer");

    await ask(`What is the status of order ${pendingOrder.orderId}?`);

    await conversation.getByText("denied", { exact: true }).first().waitFor();
    await conversation.getByText("Not permitted: customers may use only their own orders.").first().waitFor();
  });

  test("repeats an edited run with the same role, session and context", async () => {
    const question = `What is the status of order ${pendingOrder.orderId}?`;
    const contextJson = JSON.stringify({ customerId: pendingOrder.ownerId, note: "x".repeat(2_000) });
    const { runId } = await suite.desk.query(question, { role: "customer", sessionId: "visit 7", contextJson });
    const { page, conversation } = await open();
    await page.goto(`${suite.desk.agentPath}/runs/${runId}`);
    await page.getByRole("link", { name: "Edit and run again" }).click();

    const field = page.getByRole("textbox", { name: "Query" });
    await expect.poll(() => field.inputValue()).toBe(question);
    await field.fill(`${question} Thanks!`);
    await page.getByRole("button", { name: "Send" }).click();

    // Without this context, the call of a customer would be denied.
    await conversation.getByText(`pending (${pendingOrder.orderId})`).waitFor();
    await page.waitForURL(
      ({ searchParams }) => searchParams.get("session") === "visit 7" && !searchParams.has("again"),
    );
  });

  test("shows the query as a working curl command", async () => {
    const { page } = await open("?role=manager&tab=code&query=What%20is%202%20%2B%202%3F");
    const snippet = await page.getByRole("tabpanel", { name: "curl" }).locator("pre").innerText();

    const { status, body } = await runCurl(snippet, { PATCHBAY_API_KEY: suite.desk.apiKey });

    expect(status).toBe(200);
    expect(parseSse(body).at(-1)?.data).toMatchObject({
      type: "finalResponse",
      response: expect.stringContaining("4") as string,
    });
  });
});

const providers = { offline: true, gemini: { apiKey: "key" }, default: { provider: "offline" } } as const;

describeConsole("the models of the playground", { providers }, (suite) => {
  test("are those of the configured providers, each with its price", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/playground?tab=settings`, {
      viewport: { width: 1600, height: 1000 },
    });
    await page.getByRole("combobox", { name: "Provider" }).click();
    await expect.poll(() => page.getByRole("option").allInnerTexts()).toEqual(["As the agent", "Gemini"]);
    await page.getByRole("option", { name: "Gemini" }).press("Enter");
    await page.getByText("per million tokens").waitFor();

    const model = page.getByRole("combobox", { name: "Model" });
    await model.fill("gemini-2.5-f");
    const suggestions = page.getByRole("option");
    await expect
      .poll(async () => (await suggestions.allInnerTexts()).map((text) => text.replaceAll("\n", " ")))
      .toEqual(["gemini-2.5-flash $0.30 in, $2.50 out", "gemini-2.5-flash-lite $0.10 in, $0.40 out"]);
    await suggestions.first().click();
    await page.getByText("$0.30 in, $2.50 out per million tokens").waitFor();
    await page.waitForURL(({ searchParams }) => searchParams.get("model") === "gemini-2.5-flash");
    await expectAccessible(page);
  });
});

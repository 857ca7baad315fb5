import { defineFunction, defineService } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { deliveredOrder, pendingOrder } from "../support/retail.ts";
import { describeConsole } from "./support/desk-console.ts";
import { memberState } from "./support/members.ts";
import { expectAccessible, settled, sidewaysScroll } from "./support/page-checks.ts";
import { edgesOf } from "./support/rows.ts";

describeConsole("the run of a test call", {}, (suite) => {
  const path = () => `${suite.desk.agentPath}/functions/get_order_details`;

  test("leads back to its function with the same arguments and role, not to a query", async () => {
    const page = await suite.open(`${path()}?role=agent`);
    await page.locator("dl > div").filter({ hasText: "Last call" }).getByText("none in range").waitFor();
    await page.getByRole("textbox", { name: /order_id|orderId/ }).fill(pendingOrder.orderId);
    await page.getByRole("button", { name: /^Call as agent/ }).click();
    await page.getByRole("link", { name: "Open run" }).click();

    const again = page.getByRole("link", { name: "Edit and call again" });
    await again.waitFor();
    expect(await page.getByRole("button", { name: "Copy as curl" }).count()).toBe(0);
    expect(await page.getByText("test_call").count()).toBe(0);
    expect(await page.getByRole("heading", { name: "Model settings" }).count()).toBe(0);
    await again.click();

    await page.getByRole("button", { name: /^Call as agent/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe(path());
    await expect
      .poll(() => page.getByRole("textbox", { name: /order_id|orderId/ }).inputValue())
      .toBe(pendingOrder.orderId);
  });

  test("the form keeps its next call, and Back from its run restores arguments, role and context", async () => {
    const page = await suite.open(path());
    const argument = page.getByRole("textbox", { name: /order_id|orderId/ });
    await argument.fill(pendingOrder.orderId);
    await page.getByRole("combobox", { name: "Role" }).fill("customer");
    await page.getByText("Context", { exact: true }).click();
    const context = page.getByRole("textbox", { name: "Context as JSON" });
    await context.fill(JSON.stringify({ customerId: pendingOrder.ownerId }));
    await page.getByRole("button", { name: /^Call as customer/ }).click();
    await page.waitForURL(({ searchParams }) => searchParams.get("again")?.startsWith("run_") === true);
    const value = page.getByRole("region", { name: "Value returned" });
    await value.getByText(pendingOrder.orderId).first().waitFor();
    const first = new URL(page.url()).searchParams.get("again");
    await argument.fill(deliveredOrder.orderId);
    await context.fill(JSON.stringify({ customerId: deliveredOrder.ownerId }));
    await page.getByRole("button", { name: /^Call as customer/ }).click();
    await page.waitForURL(({ searchParams }) => searchParams.get("again") !== first);
    await value.getByText(deliveredOrder.orderId).first().waitFor();
    expect(await argument.inputValue()).toBe(deliveredOrder.orderId);

    await page.getByRole("link", { name: "Open run" }).click();
    await page.getByRole("link", { name: "Edit and call again" }).waitFor();
    await page.goBack();

    await page.getByRole("button", { name: /^Call as customer/ }).waitFor();
    await expect.poll(() => argument.inputValue()).toBe(deliveredOrder.orderId);
    expect(await context.inputValue()).toContain(deliveredOrder.ownerId);
  });

  test("has the outcome of its call as its state", async () => {
    const page = await suite.open(path());
    const runIds: string[] = [];
    for (const [role, state] of [
      ["agent", "succeeded"],
      // Without the context that authorize() asks for.
      ["customer", "call denied"],
    ] as const) {
      await page.goto(`${path()}?role=${role}`);
      await page.getByRole("textbox", { name: /order_id|orderId/ }).fill(deliveredOrder.orderId);
      await page.getByRole("button", { name: `Call as ${role}` }).click();
      await page.getByRole("link", { name: "Open run" }).click();
      await page.getByRole("link", { name: "Edit and call again" }).waitFor();
      await expect.poll(() => page.locator("header").getByRole("status").first().innerText()).toBe(state);
      runIds.push(new URL(page.url()).pathname.split("/").at(-1)!);
    }
    const [a, b] = runIds;
    await page.goto(`${suite.desk.agentPath}/runs?q=${b}`);
    await page.locator("[data-row-link]").getByText("call denied", { exact: true }).waitFor();
    await page.goto(`${suite.desk.agentPath}/compare?a=${a}&b=${b}`);
    await page
      .getByRole("row", { name: /^State/ })
      .getByText("call denied", { exact: true })
      .waitFor();
  });

  test("a call of a run is tried with its arguments, role and context, and saved as a case", async () => {
    const context = { customerId: pendingOrder.ownerId };
    const { runId } = await suite.desk.query(`What is the status of order ${pendingOrder.orderId}?`, {
      role: "customer",
      contextJson: JSON.stringify(context),
    });
    const page = await suite.open(`${suite.desk.agentPath}/runs/${runId}`);
    await page.getByRole("row", { name: /get_order_details/ }).click();
    await page.getByRole("button", { name: "Save as case" }).click();
    const snippet = page.locator("pre").filter({ hasText: "cases: {" });
    expect(await snippet.innerText()).toContain(`order_id: "${pendingOrder.orderId}"`);
    expect(await snippet.innerText()).toContain('roles: ["customer"]');
    await expectAccessible(page);
    await page.getByRole("link", { name: "Try with these arguments" }).click();

    const argument = page.getByRole("textbox", { name: /order_id|orderId/ });
    await expect.poll(() => argument.inputValue()).toBe(pendingOrder.orderId);
    await page.getByRole("button", { name: /^Call as customer/ }).click();
    await page.getByRole("region", { name: "Value returned" }).getByText(pendingOrder.orderId).first().waitFor();
    expect(await page.getByRole("textbox", { name: "Context as JSON" }).inputValue()).toContain(context.customerId);
  });

  test("an earlier call that does not exist leaves an empty form that says so", async () => {
    const { page } = await suite.visit({ expects: [/^404 GET /] });
    await page.goto(`${path()}?again=run_none&call=call_none&role=agent`);
    await settled(page);

    await page.getByText("The earlier call was not found.").waitFor();
    expect(await page.getByRole("textbox", { name: /order_id|orderId/ }).inputValue()).toBe("");
  });
});

const address = z.object({
  city: z.string(),
  zip: z
    .string()
    .regex(/^\d{5}$/)
    .optional(),
});
const bookTrip = defineFunction({
  name: "book_trip",
  description: "Books a trip.",
  input: z.object({
    by: z.discriminatedUnion("type", [
      z.object({ type: z.literal("train"), seat: z.enum(["window", "aisle"]) }),
      z.object({ type: z.literal("car"), adapters: z.number().int().min(2) }),
    ]),
    to: address.nullable(),
    billTo: address.optional(),
    labels: z.record(z.string(), z.string()),
    day: z.iso.date(),
  }),
  roles: "everyone",
  examples: [{ by: { type: "car", adapters: 5 }, to: { city: "Rome" }, labels: { a: "b" }, day: "2026-12-31" }],
  cases: {
    "own train": {
      input: { by: { type: "train", seat: "aisle" }, to: null, labels: { kind: "urgent" }, day: "2026-12-01" },
      context: { traveller: "t-7" },
      roles: ["clerk"],
    },
  },
  handler: (input, { role, context }) => ({ booked: input, role, context }),
});
const cancelTrip = defineFunction({
  name: "cancel_trip",
  description: "Cancels a trip.",
  input: z.object({ tripId: z.string() }),
  roles: ["clerk"],
  authorize: ({ context }) => context["traveller"] === "t-7",
  cases: { "another traveller": { input: { tripId: "1" }, context: { traveller: "t-8" } } },
  handler: ({ tripId }) => ({ cancelled: tripId }),
});
const service = defineService({ name: "trips", roles: ["clerk"], functions: [bookTrip, cancelTrip] });

describeConsole("the form of a test call", { service, reportCases: true }, (suite) => {
  const open = (width = 1280, colorScheme: "light" | "dark" = "light") =>
    suite.open(`${suite.desk.agentPath}/functions/book_trip`, { viewport: { width, height: 900 }, colorScheme });

  test("has fields for unions, records and nullable groups, and checks patterns and formats", async () => {
    const page = await open();
    const call = page.getByRole("button", { name: "Call without a role" });
    await call.click();
    await page.getByText("Choose one").waitFor();
    expect(await page.getByText("Required", { exact: true }).count()).toBe(1); // day; billTo is not set

    await page.getByRole("combobox", { name: "by" }).click();
    await page.getByRole("option", { name: "train" }).press("Enter");
    await page.getByRole("combobox", { name: "seat" }).click();
    await page.getByRole("option", { name: "aisle" }).press("Enter");
    await page.getByRole("button", { name: "Set billTo" }).click();
    const billTo = page.getByRole("group", { name: /^billTo/ });
    await billTo.getByRole("textbox", { name: /^city/ }).fill("Oslo");
    await billTo.getByRole("textbox", { name: /^zip/ }).fill("12");
    await page.getByRole("button", { name: "Add to labels" }).click();
    await page.getByRole("textbox", { name: "labels value 1" }).fill("urgent");
    await page.getByRole("textbox", { name: /^day/ }).fill("soon");
    await call.click();

    await page.getByText("Enter a name").waitFor();
    await page.getByText("Must match ^\\d{5}$").waitFor();
    await page.getByText("Not a valid date, for example 2026-12-31").waitFor();
    await expectAccessible(page);
    await page.getByRole("textbox", { name: "labels name 1" }).fill("kind");
    await billTo.getByRole("textbox", { name: /^zip/ }).fill("12345");
    await page.getByRole("textbox", { name: /^day/ }).fill("2026-12-01");
    await page.keyboard.press("Control+Enter");

    await page.getByRole("region", { name: "Value returned" }).getByText("booked:").waitFor();
    await page
      .getByRole("radio", { name: "JSON" })
      .or(page.getByRole("button", { name: "JSON" }))
      .first()
      .click();
    expect(JSON.parse(await page.getByRole("textbox", { name: "Arguments as JSON" }).inputValue())).toEqual({
      by: { type: "train", seat: "aisle" },
      to: null,
      billTo: { city: "Oslo", zip: "12345" },
      labels: { kind: "urgent" },
      day: "2026-12-01",
    });
  });

  test.each(edgesOf([390, 768, 1280]))(
    "names and values of a record are in line at %i px, also with an error",
    async (width) => {
      const page = await open(width);
      await page.getByRole("button", { name: "Add to labels" }).click();
      await page.getByRole("textbox", { name: "labels name 1" }).fill("kind");
      await page.getByRole("button", { name: /^Call/ }).click();
      const entry = page.getByRole("group", { name: "labels 1" });
      await entry.getByText(/^Required/).waitFor();

      const [name, value] = await Promise.all(
        ["labels name 1", "labels value 1"].map(async (field) =>
          entry.getByRole("textbox", { name: field }).boundingBox(),
        ),
      );
      const line = width === 390 ? "x" : "y"; // below one another, else next to one another
      expect(value![line]).toBeCloseTo(name![line], 0);
      expect(value!.width).toBeCloseTo(name!.width, 0);
      expect(await sidewaysScroll(page)).toBe(0);
      await expectAccessible(page);
    },
  );

  test("is filled by a case of the owner, with its context and a role that it applies to, for members who may call", async () => {
    const page = await open();
    await page.getByRole("group", { name: "Cases" }).getByRole("button", { name: "own train" }).click();
    await page.getByRole("button", { name: /^Call as clerk/ }).click();

    const value = page.getByRole("region", { name: "Value returned" });
    await value.getByText("traveller").first().waitFor();
    expect(await page.getByRole("textbox", { name: /^day/ }).inputValue()).toBe("2026-12-01");
    expect(await page.getByRole("combobox", { name: "to" }).innerText()).toBe("null");
    expect(await page.getByRole("textbox", { name: "Context as JSON" }).inputValue()).toContain("t-7");
    expect(await value.innerText()).toMatch(/role: "?clerk/);

    const storageState = await memberState(suite.desk, suite.desk.orgId, "viewer");
    const viewer = await suite.open(new URL(page.url()).pathname, { storageState });
    await viewer.getByRole("group", { name: "Examples" }).waitFor();
    expect(await viewer.getByRole("group", { name: "Cases" }).count()).toBe(0);
  });

  test("a case without roles is called with a role of the function, and its own check decides", async () => {
    const page = await suite.open(`${suite.desk.agentPath}/functions/cancel_trip`);
    await page.getByRole("group", { name: "Cases" }).getByRole("button", { name: "another traveller" }).click();
    await page.getByRole("button", { name: /^Call as clerk/ }).click();

    await page.getByText("The role list lets role clerk call it, but its authorize check denied this call").waitFor();
  });

  test.each(
    edgesOf([
      [390, "light"],
      [1024, "dark"],
      [1440, "light"],
      [1440, "dark"],
    ]),
  )("is filled by an example of the owner at %i px, %s", async (width, scheme) => {
    const page = await open(width, scheme);
    await page.getByRole("group", { name: "Examples" }).getByRole("button").click();
    await page.getByRole("group", { name: "to: object" }).waitFor();

    expect(await page.getByRole("textbox", { name: /^adapters/ }).inputValue()).toBe("5");
    expect(await page.getByRole("textbox", { name: "labels name 1" }).inputValue()).toBe("a");
    expect(await sidewaysScroll(page)).toBe(0);
    await expectAccessible(page);
  });
});

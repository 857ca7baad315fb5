import { expect, test } from "vitest";
import { pendingOrder } from "../support/retail.ts";
import { describeConsole } from "./support/desk-console.ts";

describeConsole("the run of a test call", {}, (suite) => {
  test("leads back to its function with the same arguments and role, not to a query", async () => {
    const path = `${suite.desk.agentPath}/functions/get_order_details`;
    const page = await suite.open(`${path}?role=agent`);
    await page.getByRole("textbox", { name: /order_id|orderId/ }).fill(pendingOrder.orderId);
    await page.getByRole("button", { name: /^Call as agent/ }).click();
    await page.getByRole("link", { name: "Open run" }).click();

    const again = page.getByRole("link", { name: "Edit and call again" });
    await again.waitFor();
    expect(await page.getByRole("button", { name: "Copy as curl" }).count()).toBe(0);
    expect(await page.getByText("test_call / test_call").count()).toBe(0);
    await again.click();

    await page.getByRole("button", { name: /^Call as agent/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe(path);
    expect(await page.getByRole("textbox", { name: /order_id|orderId/ }).inputValue()).toBe(pendingOrder.orderId);
  });
});

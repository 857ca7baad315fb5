import { expect, test } from "vitest";
import { loadRetailData } from "../../examples/retail-desk/data/load.ts";
import { createRetailDesk } from "../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../examples/retail-desk/store.ts";
import { startSystem } from "@patchbay/test-support/system";

// If it is not set, the retail desk's own tests report that they and these are skipped.
const folder = process.env.RETAIL_DATA;

const ORDER = "#W2378156";
const OWNER = "yusuf_rossi_9620";
const query = `What is the status of order ${ORDER}?`;

const realDesk = () => startSystem({ service: createRetailDesk(createRetailStore(() => loadRetailData(folder!))) });
const as = (customerId: string) => ({ role: "customer", contextJson: JSON.stringify({ customerId }) });

test.skipIf(!folder)("every endpoint answers from the real records", async () => {
  await using system = await realDesk();

  const answer = await system.query(query, { role: "manager" });
  expect(answer).toMatchObject({ success: true, toolInteractions: [{ toolName: "get_order_details", success: true }] });
  expect(answer.response).toContain("delivered");

  const { events } = await system.stream(query, { role: "manager" });
  expect(events.at(-1)?.data).toMatchObject({ type: "finalResponse", response: answer.response });

  const local = await system.local(query, { role: "manager" });
  expect(local.events.at(-1)?.data).toMatchObject({ type: "final_response", data: { response: answer.response } });
});

test.skipIf(!folder)("a customer gets an answer about his own order, and is denied any other", async () => {
  await using system = await realDesk();

  const own = await system.query(query, as(OWNER));
  const foreign = await system.query(query, as("noah_brown_6181"));

  expect(own.toolInteractions).toMatchObject([{ success: true, result: { order_id: ORDER, status: "delivered" } }]);
  expect(foreign.toolInteractions).toMatchObject([{ success: false, code: "denied" }]);
  expect(foreign.response).not.toContain("delivered");
});

test.skipIf(!folder)("a user is looked up before his orders", async () => {
  await using system = await realDesk();

  const answer = await system.query("Which orders has Yusuf Rossi with zip 19122?", { role: "agent" });

  expect(answer.toolInteractions.map((call) => call.toolName)).toEqual(
    expect.arrayContaining(["find_user_id_by_name_zip", "get_user_details"]),
  );
  expect(answer.response).toContain(ORDER);
});

import type { RightsInUse } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

test("members see which roles used their functions, and calls that a rule denied", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  await desk.query("Show order 7", { role: "agent" });
  const { orgId, agentId } = desk;
  const denied = { action: "call.denied", functionName: "close_shop", role: "agent", rule: "roles" };
  await desk.store.audit.record([{ ...denied, orgId, agentId }]);

  const use = await viewer.json<RightsInUse>("GET", `${desk.agent}/access/use`);

  const shown = use.rights.map(({ functionName, role, verdict, calls }) => [functionName, role, verdict, calls]);
  expect(shown).toContainEqual(["show_order", "agent", "used", 1]);
  expect(shown).toContainEqual(["close_shop", "manager", "new", 0]);
  expect(shown).not.toContainEqual(expect.arrayContaining(["close_shop", "agent"]));
  expect(shown.at(-1)).toEqual(["show_order", "agent", "used", 1]);
  expect(use).toMatchObject({ counts: { used: 1, unused: 0, new: 10 }, omitted: 0, refused: 0 });
  expect(use.denied).toMatchObject([{ functionName: "close_shop", role: "agent", rule: "roles", calls: 1 }]);
});

test("a period of more than a year is refused", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");

  expect(await failureOf(await viewer.ask("GET", `${desk.agent}/access/use?days=366`))).toEqual([
    400,
    "invalid_request",
  ]);
});

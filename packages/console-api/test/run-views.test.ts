import type { RunView } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { failureOf, openConsole } from "./support/open-console.ts";

test("members keep own views, share them as developers, and owners delete shared ones", async () => {
  await using console = await openConsole();
  const { agentId } = await console.admin.createAgent("Clerk", { orgId: console.orgId });
  const [owner, developer, viewer] = [
    await console.member("owner"),
    await console.member("developer"),
    await console.member("viewer"),
  ];
  const path = `/api/agents/${agentId}/views`;
  const body = (name: string, shared: boolean) => ({ name, shared, search: { status: "failed", sort: "-costUsd" } });
  const namesOf = async ({ browser }: typeof owner) =>
    ((await (await browser.ask("GET", path)).json()) as { views: RunView[] }).views.map(({ name, own }) => [name, own]);

  const made = await viewer.browser.ask("POST", path, { body: body("Mine", false) });
  expect(made.status).toBe(201);
  expect(await failureOf(await viewer.browser.ask("POST", path, { body: body("Ours", true) }))).toEqual([
    403,
    "console_role_required",
  ]);
  console.clock.advance(1);
  const shared = (await (await developer.browser.ask("POST", path, { body: body("Ours", true) })).json()) as RunView;
  expect(await namesOf(viewer)).toEqual([
    ["Mine", true],
    ["Ours", false],
  ]);
  expect(await namesOf(owner)).toEqual([["Ours", false]]);

  expect((await viewer.browser.ask("DELETE", `${path}/${shared.viewId}`)).status).toBe(404);
  expect((await owner.browser.ask("DELETE", `${path}/${shared.viewId}`)).status).toBe(204);
  expect(await namesOf(viewer)).toEqual([["Mine", true]]);
  const tooMany = {
    name: "x",
    shared: false,
    search: Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`p${i}`, ""])),
  };
  expect((await viewer.browser.ask("POST", path, { body: tooMany })).status).toBe(400);
});

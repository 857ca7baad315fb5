import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { readAlong } from "@patchbay/test-support/reader";
import { openDesk } from "./support/console-desk.ts";
import { failureOf } from "./support/open-console.ts";

/** A service whose one function waits until the test opens its gate. */
function gatedService() {
  const gate = Promise.withResolvers<string>();
  const wait = defineFunction({
    name: "weather_report",
    description: "Weather report.",
    input: { type: "object" },
    roles: everyone,
    effect: "read",
    handler: () => gate.promise,
  });
  return { service: defineService({ name: "weather", functions: [wait] }), open: gate.resolve };
}

type Desk = Awaited<ReturnType<typeof openDesk>>;
type Member = Awaited<ReturnType<Desk["member"]>>;

/** A member's playground query, whose run waits in its function, and the view of that run and of the lists. */
async function openViews(desk: Desk, member: Member) {
  const body = { query: "weather report" };
  const playground = readAlong(await member.ask("POST", `${desk.agent}/playground`, { body }));
  await playground.seen(/"type":"toolCall"/);
  const run = readAlong(await member.ask("GET", `${desk.agent}/runs/${playground.runId}/events`));
  await run.seen(/"type":"toolCall"/);
  const live = readAlong(await member.ask("GET", "/live"));
  await live.seen(/id: live/);
  return { playground, run, live };
}

test.each<[string, (desk: Desk, member: Member) => Promise<unknown>]>([
  ["the member is removed", (desk, { memberId }) => desk.store.members.remove(desk.orgId, memberId)],
  ["the session ends", (_desk, member) => member.json("DELETE", "/session")],
])("open streams of runs, playground and lists end when %s, and send nothing more", async (_when, end) => {
  const { service, open } = gatedService();
  await using desk = await openDesk({ service });
  const [member, other] = [await desk.member("developer"), await desk.member("developer")];
  const views = await openViews(desk, member);
  const kept = await openViews(desk, other);

  await end(desk, member);
  expect(await Promise.all(Object.values(views).map(({ over }) => over))).toEqual([true, true, true]);
  open("SECRET");

  await kept.playground.seen(/SECRET.*finalResponse/s);
  for (const view of [views.playground, views.run]) {
    expect(view.text).toMatch(/\n\nretry: 1000\n\n$/);
    expect(view.text).not.toContain("SECRET");
  }
});

test("streams of runs count towards the limits of the member and of the organisation", async () => {
  const { service, open } = gatedService();
  await using desk = await openDesk({ service, limits: { streamsPerOrganisation: 2 } });
  const member = await desk.member("owner");
  const { playground } = await openViews(desk, member);

  const refused = await member.ask("GET", `${desk.agent}/runs/${playground.runId}/events`);

  expect(refused.headers.get("Retry-After")).toBe("5");
  expect(await failureOf(refused)).toEqual([429, "rate_limited"]);
  open("Sunny.");
});

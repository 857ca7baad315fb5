import { CONSOLE_ROUTES, type ConsoleRoute, SERVICE_SCOPES } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { everythingOf, openNeighbours } from "./support/neighbours.ts";

const routes = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];
const named = routes.map(([name]) => name).filter((name) => name.includes(":"));

test.each(named)("%s finds nothing of another organisation", async (name) => {
  await using world = await openNeighbours();
  const { mine, theirs, plane, owner } = world;
  const token = await world.token(SERVICE_SCOPES);
  const { scopes } = CONSOLE_ROUTES[name as keyof typeof CONSOLE_ROUTES] as ConsoleRoute;
  const before = JSON.stringify(await everythingOf(plane, theirs));

  for (const headers of scopes ? [owner, token] : [owner]) {
    expect(await answerOf(await world.ask(name, theirs, headers))).toEqual([404, "not_found"]);
    // One's own agent opens nothing below it that is another's.
    const below = Object.keys(theirs).filter((id) => id !== "agent_id" && name.includes(`:${id}`));
    const ids = { ...theirs, agent_id: mine.agent_id };
    if (name.includes(":agent_id") && below.length > 0)
      expect(await answerOf(await world.ask(name, ids, headers))).toEqual([404, "not_found"]);
  }

  expect(JSON.stringify(await everythingOf(plane, theirs))).toBe(before);
});

test("the same routes find the organisation's own data", async () => {
  await using world = await openNeighbours();
  const reads = named.filter((name) => name.startsWith("GET") && !name.endsWith("/events"));
  const statuses = await Promise.all(reads.map(async (name) => [name, (await world.ask(name, world.mine)).status]));

  // Neither has connected functions yet, so there is no set to show.
  const missing = statuses.filter(([, status]) => status !== 200).map(([name]) => name);
  expect(missing).toEqual([
    "GET /agents/:agent_id/access",
    "GET /agents/:agent_id/access/use",
    "GET /agents/:agent_id/access/model-view",
    "GET /agents/:agent_id/access/changes",
    "GET /agents/:agent_id/access/locks",
    "GET /agents/:agent_id/functions",
    "GET /agents/:agent_id/functions/:function_name/cases",
    "GET /agents/:agent_id/runs/:run_id/turns/:step/request",
  ]);
});

test("lists of one organisation contain nothing of another", async () => {
  await using world = await openNeighbours();
  const lists = routes
    .filter(([name, { answer }]) => name.startsWith("GET") && !name.includes(":") && answer !== "events")
    .map(([name]) => name);
  const token = await world.token(SERVICE_SCOPES);
  for (const name of lists) {
    const text = await (await world.ask(name, {})).text();
    const byToken = await world.ask(name, {}, token);
    const { scopes } = CONSOLE_ROUTES[name as keyof typeof CONSOLE_ROUTES] as ConsoleRoute;
    expect([name, byToken.status]).toEqual([name, scopes || name.endsWith("/sign-in") ? 200 : 403]);
    for (const id of Object.values(world.theirs))
      expect([name, (await byToken.clone().text()).includes(id)]).toEqual([name, false]);
    for (const id of Object.values(world.theirs)) expect([name, text.includes(id)]).toEqual([name, false]);
  }
  const foreign = await world.ask(`GET /audit?agentId=${world.theirs.agent_id}`, {});
  expect(await foreign.json()).toMatchObject({ items: [] });
});

async function answerOf(response: Response): Promise<[number, unknown]> {
  const { code } = (await response.json()) as { code?: string };
  return [response.status, code];
}

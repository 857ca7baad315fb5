import { CONSOLE_ROUTES, type ConsoleRoute } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { sqlitePlace } from "../../store/test/sqlite-place.ts";
import { fillWithRuns } from "./many-runs.ts";
import { openConsole } from "./support/open-console.ts";

const RUNS = 10_000;

/** Every route that gives a list page by page, as JSON. */
const lists = Object.entries<ConsoleRoute>(CONSOLE_ROUTES)
  .filter(([, { query, answer }]) => query !== undefined && "cursor" in query.shape && typeof answer !== "string")
  .map(([name, { answer }]) => ({ name, path: name.replace("GET ", ""), answer }));

/** The benchmark measures how long they take. */
test("over 10,000 runs the first page of every list has the documented form", async () => {
  await using place = await sqlitePlace();
  await using console = await openConsole({}, place.url);
  const { agentId } = await console.admin.createAgent("Clerk", { orgId: console.orgId });
  const of = { orgId: console.orgId, agentId };
  await fillWithRuns(place.url, { ...of, runs: RUNS, newestAt: console.clock.now() - 1 });
  const { browser } = await console.member("owner");
  const [run] = await console.store.runs.list(agentId, { limit: 1 });
  const ids: Record<string, string> = {
    agent_id: agentId,
    run_id: run?.runId ?? "",
    thread_id: run?.threadId ?? "",
  };

  expect(lists.length).toBeGreaterThanOrEqual(10);
  for (const { name, path, answer } of lists) {
    const address = `/api${path.replace(/:(\w+)/g, (_, id: string) => ids[id] ?? `no-${id}`)}`;
    const response = await browser.ask("GET", address);
    const body: unknown = await response.json();
    expect(response.status, `${name}: ${JSON.stringify(body)}`).toBe(200);
    if (typeof answer !== "string") answer.parse(body);
  }
});

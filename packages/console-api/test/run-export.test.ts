import type { RunSummary } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { ending, sampleRequest, sampleRun, sampleTurn } from "../../store/test/contract/world.ts";
import { openConsole } from "./support/open-console.ts";

async function openWithRuns(queries: readonly string[]) {
  const console = await openConsole();
  const { agentId } = await console.admin.createAgent("Clerk", { orgId: console.orgId });
  const { store, orgId, clock } = console;
  for (const [at, query] of queries.entries()) {
    clock.advance(1);
    const started = await store.runs.start(sampleRun({ orgId, agentId, request: sampleRequest({ query }) }));
    if (started.kind !== "started") throw new Error(started.kind);
    await store.runs.commit(started.run, { ...ending(started.run), turn: sampleTurn(0, { costMicros: at * 1_000 }) });
  }
  await store.index.record();
  clock.advance(1);
  const { browser } = await console.member("viewer");
  const ask = (query: string) => browser.ask("GET", `/api/agents/${agentId}/run-export?${query}`);
  return Object.assign(console, { agentId, ask });
}

test("an export has all runs that match, in its order, beyond one page", async () => {
  await using desk = await openWithRuns(Array.from({ length: 1_205 }, (_, at) => `No ${at}`));
  const { agentId } = desk;

  const response = await desk.ask("format=ndjson&sort=costUsd");
  expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="runs-${agentId}.ndjson"`);
  const runs = (await response.text())
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RunSummary);
  expect(runs.map(({ query }) => query)).toEqual(Array.from({ length: 1_205 }, (_, at) => `No ${at}`));

  const json = (await (await desk.ask("format=json&minCostUsd=1.2")).json()) as RunSummary[];
  expect(json.map(({ costUsd }) => costUsd)).toEqual([1.204, 1.203, 1.202, 1.201, 1.2]);
});

test("an export of more runs than can be sorted has them all, newest first", async () => {
  await using desk = await openConsole();
  const { agentId } = await desk.admin.createAgent("Clerk", { orgId: desk.orgId });
  const started: string[] = [];
  for (let at = 0; at < 1_003; at++) {
    desk.clock.advance(1);
    started.push(`run_${at}`);
    await desk.store.runs.start(sampleRun({ orgId: desk.orgId, agentId, runId: `run_${at}` }));
  }
  desk.clock.advance(1);
  const { browser } = await desk.member("viewer");

  const path = `/api/agents/${agentId}/run-export?format=json&status=running&sort=createdAt`;
  const runs = (await (await browser.ask("GET", path)).json()) as RunSummary[];

  expect(runs.map(({ runId }) => runId)).toEqual(started.toReversed());
});

test("an export without runs is an empty list, or the names of the columns", async () => {
  await using desk = await openWithRuns([]);

  expect(await (await desk.ask("format=json")).json()).toEqual([]);
  expect(await (await desk.ask("format=ndjson")).text()).toBe("");
  expect(await (await desk.ask("format=csv")).text()).toMatch(/^runId,createdAt,[\w,]+,costUsd\r\n$/);
});

test("cells of CSV are quoted, and none is a formula", async () => {
  await using desk = await openWithRuns(['Say "a", then\nb', '=HYPERLINK("http://x")', "-1", "\n=1+1"]);

  const text = await (await desk.ask("format=csv&sort=createdAt")).text();

  expect(text).toContain(',"Say ""a"", then\nb",');
  expect(text).toContain(`,"'=HYPERLINK(""http://x"")",`);
  expect(text).toContain(",'-1,");
  expect(text).toContain(`,"'\n=1+1",`);
});

test("an export of another organisation's agent, or in an unknown format, is refused", async () => {
  await using desk = await openWithRuns(["Mine"]);
  const other = await desk.admin.createOrg("Other");
  const { browser } = await desk.member("owner", { email: "other@example.com", org: other.orgId });

  expect((await browser.ask("GET", `/api/agents/${desk.agentId}/run-export?format=json`)).status).toBe(404);
  expect((await desk.ask("format=xml")).status).toBe(400);
});

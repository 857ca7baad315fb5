import { DatabaseSync } from "node:sqlite";
import { CONSOLE_ROUTES } from "@patchbay/protocol/console";
import { expect, onTestFinished, test, vi } from "vitest";
import { openStore } from "@patchbay/store/open";
import { sqlitePlace, type SqlitePlace } from "../../store/test/sqlite-place.ts";
import { openConsole } from "./support/open-console.ts";

/** Tables that grow with every query. */
const GROWING = /^SCAN (runs|run_facts|run_texts|run_events|turns|calls|usage|ledger|audit|sessions|threads)\b/;
/** Holds only what has not ended. */
const FEW = "USING INDEX runs_open";

test("no page of the console and no poll of the live feed scans a growing table", async () => {
  await using place = await migratedPlace();
  await using console = await openConsole();
  const { agentId } = await console.admin.createAgent("Clerk", { orgId: console.orgId });
  const { browser } = await console.member("owner");
  const asked = statementsOf();

  const gets = Object.keys(CONSOLE_ROUTES).filter((name) => name.startsWith("GET ") && name !== "GET /live");
  for (const name of gets)
    await browser.ask("GET", `/api${name.slice(4).replace(":agent_id", agentId).replace(/:\w+/g, "none")}`);
  await console.queries.live.versions(console.orgId);

  const scans = plansOf(place, asked).filter((step) => GROWING.test(step) && !step.includes(FEW));
  expect(asked.size).toBeGreaterThan(gets.length);
  expect(scans).toEqual([]);
});

test("calls in flight are found by the index of open runs", async () => {
  await using place = await migratedPlace();
  await using console = await openConsole();
  const asked = statementsOf();

  await console.queries.runtimes.list({ orgId: "org_1", agentId: "agt_1" }, { limit: 50 });

  expect(plansOf(place, asked).filter((step) => / runs\b/.test(step))).toEqual([`SCAN runs ${FEW}`]);
});

test("the runs of a request are found by the index of facts, and few others are read", async () => {
  await using place = await migratedPlace();
  await using console = await openConsole();
  const asked = statementsOf();

  await console.queries.search.find({ orgId: "org_1", memberId: "mem_1", role: "owner" }, "abc");

  const plans = plansOf(place, asked).join("\n");
  for (const index of ["run_facts_by_request", "runs_open", "runs_ended", "approvals_pending"])
    expect(plans).toContain(index);
});

/** A file with the tables of the store. Statements are asked of a store in memory, which reads on this thread. */
async function migratedPlace(): Promise<SqlitePlace> {
  const place = await sqlitePlace();
  await (await openStore(place.url)).close();
  return place;
}

/** Statements that are prepared from here on. */
function statementsOf(): Set<string> {
  const statements = new Set<string>();
  const prepare = DatabaseSync.prototype.prepare;
  const spy = vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, statement) {
    statements.add(statement);
    return prepare.call(this, statement);
  });
  onTestFinished(() => spy.mockRestore());
  return statements;
}

/** The steps by which the database goes through each. */
function plansOf({ file }: SqlitePlace, statements: ReadonlySet<string>): string[] {
  const database = new DatabaseSync(file, { readOnly: true });
  // What a clock of a test is asked by.
  database.function("now_ms", () => 0);
  const selects = [...statements].filter((statement) => statement.startsWith("select"));
  const steps = selects.flatMap((statement) => database.prepare(`explain query plan ${statement}`).all());
  database.close();
  return steps.map(({ detail }) => String(detail));
}

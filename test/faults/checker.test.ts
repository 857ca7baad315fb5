import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { createDice } from "../../examples/retail-desk/data/dice.ts";
import { check } from "./checker.ts";
import { startLab } from "./lab.ts";
import { startLoad } from "./load.ts";
import { SHARED_PATIENCE } from "./run-scenario.ts";
import { until } from "./held-calls.ts";

const LAST_RUN = "(select max(id) from runs)";

/** Damage to the database, and the checker's report of it. */
const DAMAGES: Record<string, string> = {
  [`delete from run_events where seq = 2 and run_id = ${LAST_RUN}`]: "events: expected",
  [`update run_events set body = replace(body, 'Done', 'Gone') where run_id = ${LAST_RUN}`]: "is stored differently",
  [`delete from run_events where run_id = ${LAST_RUN} and seq = (select max(seq) from run_events where run_id = ${LAST_RUN})`]:
    "final events: expected 1, found 0",
  [`update runs set status = 'running', finished_at = null where id = ${LAST_RUN}`]: "never ended",
  [`update runs set finished_at = deadline_at + 30000 where id = ${LAST_RUN}`]: "ended too late",
  [`delete from usage where run_id = ${LAST_RUN} and step = 1`]: "turns with usage: expected",
  "update balances set micros = micros + 1": "balance in micro-USD",
  "delete from ledger where kind = 'settle'": "open reservations: expected 0",
  "update calls set org_id = 'another'": "rows of other organisations: expected 0",
  "update calls set outcome = null": "toolResult events of ",
  [`update calls set outcome = '{"ok":false,"code":"outcome_unknown","message":""}'`]: "outcome unknown of",
};

test("the checker reports every damage, and none without damage", async () => {
  await using lab = await startLab({ embedded: true, tenants: 1, runtimes: 1 }, SHARED_PATIENCE);
  const load = startLoad(lab, { rate: 20, dice: createDice(1), streams: 1, callMs: 0, thinkMs: 0 });
  await until(() => load.endings.length >= 10, "ten queries", 30_000 * lab.patience);
  const endings = await load.stop();
  await lab.replicas[0]!.kill();
  expect(await check(lab, { endings, succeeded: endings.length })).toMatchObject({ violations: [] });

  using database = new DatabaseSync(lab.database.slice("sqlite:".length));
  database.exec("pragma foreign_keys = off; pragma synchronous = off");
  for (const [damage, finding] of Object.entries(DAMAGES)) {
    const rows = snapshot(database);
    database.exec(damage);
    const { violations } = await check(lab, { endings, succeeded: endings.length });
    expect(violations.join("\n"), damage).toContain(finding);
    restore(database, rows);
  }
  const [note] = lab.functionNotes();
  appendFileSync(join(lab.folder, "functions-again.jsonl"), `${JSON.stringify({ ...note, name: "charge" })}\n`);
  const { violations } = await check(lab, { endings, succeeded: endings.length });
  expect(violations.join("\n")).toContain("ran 2 times");
  rmSync(join(lab.folder, "functions-again.jsonl"));
  expect((await check(lab, { endings, succeeded: endings.length + 1 })).violations).toHaveLength(1);
});

const TABLES = ["runs", "run_events", "calls", "usage", "ledger", "balances"];
type Row = Record<string, string | number | null>;

function snapshot(database: DatabaseSync): Map<string, Row[]> {
  return new Map(TABLES.map((table) => [table, database.prepare(`select * from ${table}`).all() as Row[]]));
}

function restore(database: DatabaseSync, rows: Map<string, Row[]>): void {
  database.exec("begin");
  for (const [table, all] of rows) {
    database.exec(`delete from ${table}`);
    for (const row of all) {
      const names = Object.keys(row);
      const places = names.map(() => "?").join();
      database.prepare(`insert into ${table} (${names.join()}) values (${places})`).run(...Object.values(row));
    }
  }
  database.exec("commit");
}

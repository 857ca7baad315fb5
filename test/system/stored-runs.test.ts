import { rm } from "node:fs/promises";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, violations } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { runCommand } from "../../packages/cli/test/support/command.ts";
import { populate } from "../support/populate.ts";
import { testDatabase } from "@patchbay/test-support/postgres";

/** A database that statements can change past the store and its foreign keys. */
interface Place extends AsyncDisposable {
  url: string;
  execute(statements: string): Promise<void>;
}

async function sqlitePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-stored-runs-"));
  const file = join(folder, "patchbay.db");
  return {
    url: `sqlite:${file}`,
    async execute(statements) {
      using database = new DatabaseSync(file, { enableForeignKeyConstraints: false });
      database.exec(`begin; ${statements}; commit`);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Row-level security binds the role of its address. */
async function postgresPlace(): Promise<Place> {
  const database = await testDatabase();
  return {
    url: database.url,
    async execute(statements) {
      await database.query(`set session_replication_role = replica; ${statements}`);
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

/** The newest ended run, which was reported, and another one with an approved call. */
const RUN = "(select max(id) from runs where finished_at is not null)";
const LAST = `(select last_seq from runs where id = ${RUN})`;
const APPROVED = "(select run_id from approvals where status = 'approved')";
const CALL = "(select call_id from approvals where status = 'approved')";
const eventOf = (type: string) => `run_id = ${APPROVED} and body like '{"type":"${type}"%'`;
const reportOf = `data like '{"runId":"' || ${RUN} || '%'`;
const copied = "org_id, agent_id, type, data, status, attempts, attempts_left, created_at, queued_at";

/** Statements, and what `violations` finds after them, without ids. */
const DAMAGES: Record<string, string[]> = {
  [`delete from run_events where run_id = ${RUN} and seq = 2`]: [
    "events: expected 5, found 4",
    "toolCall events of call: expected 1, found 0",
  ],
  [`update run_events set seq = 9 where run_id = ${RUN} and seq = ${LAST}`]: [
    "last event: expected 5, found 9",
    "final event: expected 5, found 9",
  ],
  [`update run_events set body = '{"type":"error","code":"internal"}' where run_id = ${RUN} and seq = ${LAST}`]: [
    "status: expected failed, found succeeded",
  ],
  [`update run_events set body = '{"type":"error","code":"internal"}' where run_id = ${RUN} and seq = 1`]: [
    "final events: expected 1, found 2",
    "toolCall events of call: expected 1, found 0",
  ],
  [`update run_events set body = '{"type":"thought"}' where run_id = ${RUN} and seq = ${LAST}`]: [
    "final events: expected 1, found 0",
    "final event: expected 5, found none",
    "status: expected failed, found succeeded",
  ],
  [`update runs set finished_at = null where id = ${RUN}`]: [
    "final events: expected 0, found 1",
    "final event: expected none, found 5",
    "status: expected running, found succeeded",
  ],
  [`update runs set status = 'cancelled' where id = ${RUN}`]: ["status: expected succeeded, found cancelled"],
  [`update runs set status = 'failed' where status = 'waiting'`]: ["status: expected running, found failed"],
  [`update run_events set body = replace(body, '"toolCallId":"', '"toolCallId":"x') where ${eventOf("toolCall")}`]: [
    "toolCall events of call: expected 1, found 0",
  ],
  [`update run_events set body = replace(body, '"refunded"', '"kept"') where ${eventOf("toolResult")}`]: [
    "toolResult of call is its outcome: expected true, found false",
  ],
  [`update run_events set body = '{"type":"toolResult"' where ${eventOf("toolResult")}`]: [
    "rows are readable: expected true, found false",
  ],
  [`update calls set outcome = null where id = ${CALL}`]: ["toolResult events of call: expected 0, found 1"],
  [`update calls set attempts = '[{"ended":"undelivered"},{"ended":"unknown"},{"ended":"approval"}]' where id = ${CALL}`]:
    ["starts of refund (call): expected 1, found 2"],
  [`update runs set role = 'guest' where id = ${APPROVED}`]: ["refund (call) is permitted: expected true, found false"],
  [`update calls set arguments = '{"id":"o2"}' where id = ${CALL}`]: [
    "arguments hash of call: expected hash, found hash",
  ],
  [`update approvals set status = 'rejected' where call_id = ${CALL}`]: [
    "approval of refund (call): expected approved, found rejected",
    "decisions of apr: expected rejected, found approved",
  ],
  [`delete from approvals where call_id = ${CALL}`]: ["approvals of refund (call): expected 1, found 0"],
  [`update approvals set reported = 1 where status = 'pending'`]: ["decisions of apr: expected pending, found none"],
  [`update run_events set body = replace(body, '"approvalId":"', '"approvalId":"x') where ${eventOf("approvalRequest")}`]:
    ["approvalRequest events of apr: expected 1, found 0"],
  [`update calls set org_id = 'org_2' where id = ${CALL}`]: ["rows of other organisations: expected 0, found 1"],
  [`update turns set cost_micros = 0 where run_id = ${RUN}`]: ["micro-USD of usage: expected 0, found 936"],
  [`delete from turns where run_id = ${RUN} and step = 1`]: [
    "turns with usage: expected 1, found 2",
    "micro-USD of usage: expected 468, found 936",
  ],
  [`update run_facts set cost_micros = 7 where run_id = ${RUN}`]: ["micro-USD in lists: expected 936, found 7"],
  [`update ledger set kind = 'reserve', step = 9 where run_id = ${RUN} and step = 1 and kind = 'settle'`]: [
    "open reservations: expected 0, found 2",
  ],
  [`update ledger set micros = micros - 5 where run_id = ${RUN} and step = 1 and kind = 'settle'; update balances set micros = micros - 5`]:
    ["micro-USD charged: expected 936, found 941"],
  ["update balances set micros = 7"]: ["balance in micro-USD: expected 9992980, found 7"],
  [`update runs set deadline_at = finished_at - 21000 where id = ${RUN}; update served set since = since - 60000, last_at = last_at + 60000`]:
    ["ends more than 20 s after its deadline: expected 0, found 1"],
  ["update runs set started_at = created_at - 60000 where retry_of is not null"]: [
    "earlier runs in progress in its thread: expected 0, found 1",
  ],
  [`delete from webhook_deliveries where ${reportOf}`]: ["run.ended reports: expected 1, found 0"],
  [`insert into webhook_deliveries (id, ${copied}) select 'whd_2', ${copied} from webhook_deliveries where ${reportOf}`]:
    ["run.ended reports: expected 1, found 2"],
  [`update audit set role = 'x' where action = 'run.started' and run_id = ${RUN}`]: [
    "audit log: expected as sealed, found Entry aud (time) was changed after it was sealed.",
  ],
};

const withoutIds = (text: string): string =>
  text
    .replaceAll(/\b(call|apr|aud)_\w+/g, "$1")
    .replaceAll(/\b[0-9a-f]{64}\b/g, "hash")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time");

const TABLES = `runs run_events calls approvals turns usage ledger balances webhook_deliveries served run_facts audit`;

test.each([
  ["SQLite", sqlitePlace],
  ["Postgres", postgresPlace],
])("each damage to stored runs is found on %s, and none without", async (_engine, makePlace) => {
  await using place = await makePlace();
  await populate(place.url);
  await place.execute(
    TABLES.split(" ")
      .map((name) => `create table kept_${name} as select * from ${name}`)
      .join("; "),
  );
  const doctor = (...more: string[]) => runCommand(["doctor", "--runs", "--database", place.url, ...more]);
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(await openStore(place.url, { readOnly: true }), (one) => one.close());
  const check = async () => {
    const { violations: found, notes } = await violations(store);
    const texts = found.map(({ invariant, expected, found: is }) => `${invariant}: expected ${expected}, found ${is}`);
    return { texts: texts.map(withoutIds), found, notes };
  };

  expect(await check()).toEqual({ texts: [], found: [], notes: [] });
  expect(await doctor()).toEqual({ code: 0, stdout: "checked 9 runs, 13 calls: 0 violations\n", stderr: "" });
  for (const [damage, expected] of Object.entries(DAMAGES)) {
    await place.execute(damage);
    expect((await check()).texts, damage).toEqual(expected);
    for (const [, table] of damage.matchAll(/(?:update|from|into) (\w+) /g))
      if (TABLES.includes(table!))
        await place.execute(`delete from ${table}; insert into ${table} select * from kept_${table}`);
  }
  expect((await check()).texts).toEqual([]);

  await place.execute(`update runs set status = 'failed', crashes = 4 where id = ${RUN}`);
  await place.execute(
    `update run_events set body = '{"type":"error","code":"crash_loop"}' where run_id = ${RUN} and seq = ${LAST}`,
  );
  await place.execute("update runs set status = 'failed' where status = 'waiting'");
  const { found, notes } = await check();
  const [run, note] = [`${found[0]!.runId}  ${found[0]!.agentId}`, `${notes[0]!.runId}  ${notes[0]!.agentId}`];
  const stdout = `${run}  status: expected running, found failed
note  ${note}  crashes of its process: expected 0, found 4
checked 9 runs, 13 calls: 1 violation
`;
  expect(await doctor()).toEqual({ code: 1, stdout, stderr: "error: 1 violation.\n" });
  expect(JSON.parse((await doctor("--json")).stdout)).toEqual({
    ok: false,
    runs: 9,
    calls: 13,
    violations: found,
    notes,
  });
  expect((await doctor("--since", "2100-01-01")).stdout).toBe("checked 0 runs, 0 calls: 0 violations\n");
});

/** Times what reads 1,000,000 audit entries, on both engines: `node bench/audit.ts`. Exit 1 when the list of unused rights of a sealed log takes 2 s. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createAdmin, openStore, type Store } from "@patchbay/control-plane/admin";
import { median } from "./jobs.ts";
import { startPostgres } from "./postgres.ts";

const ENTRIES = 1_000_000;
const DAYS = 100;
const FUNCTIONS = 50;
const ROLES = ["clerk", "boss", "auditor", "guest", "support", "night"];
const TIMES = 5;
const MOST_MS = 2_000;

const manifest = {
  functions: Array.from({ length: FUNCTIONS }, (_, n) => ({
    name: `function_${n}`,
    description: "",
    inputSchema: { type: "object" },
    roles: ROLES,
    conditional: false,
    effect: "read" as const,
    idempotent: true,
    timeoutMs: 1_000,
  })),
};

/** As a deployment writes them: four calls of a run, every tenth denied, spread evenly over the days. */
const seed = (orgId: string, agentId: string): string => `
  insert into audit (id, org_id, agent_id, run_id, call_id, action, role, key_id, function_name, rule, created_at)
  with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${ENTRIES})
  select 'aud_' || (100000000000000 + n) || 'seeded', '${orgId}', '${agentId}', 'run_' || (n / 4), 'call_' || n,
    case when n % 10 = 0 then 'call.denied' else 'call.succeeded' end,
    case n % 5 ${ROLES.slice(0, 5)
      .map((role, at) => `when ${at} then '${role}'`)
      .join(" ")} end,
    'key_1', 'function_' || (n % ${FUNCTIONS - 5}), case when n % 10 = 0 then 'authorize' end,
    ${Date.now() - DAYS * 86_400_000} + cast(n as bigint) * ${(DAYS * 86_400_000) / ENTRIES - 1}
  from counted`;

async function timed(store: Store, name: string, fill: (statement: string) => Promise<void>): Promise<boolean> {
  const admin = createAdmin({ store });
  const { orgId } = await admin.createOrg("Bench", "starter");
  const { agentId } = await admin.createAgent("Desk", { orgId });
  await fill(seed(orgId, agentId));
  const unused = async (): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < TIMES; i++) times.push(await ms(() => admin.accessUse(agentId, manifest, { since: "90d" })));
    return median(times);
  };
  const before = await unused();
  const sealing = await ms(() => store.audit.seal());
  const after = await unused();
  const verifying = await ms(() => admin.verifyAudit(orgId));
  const figures = { "unused, not sealed": before, "unused, sealed": after, seal: sealing, verify: verifying };
  for (const [what, value] of Object.entries(figures))
    process.stdout.write(`${name}  ${what}  ${Math.round(value)} ms\n`);
  return after < MOST_MS;
}

async function ms(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

async function embedded(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "patchbay-audit-"));
  const file = join(folder, "patchbay.db");
  const store = await openStore(`sqlite:${file}`);
  try {
    return await timed(store, "SQLite", async (statement) => {
      using database = new DatabaseSync(file);
      database.exec(statement);
    });
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

async function onPostgres(): Promise<boolean> {
  await using postgres = await startPostgres();
  await using database = await postgres.createDatabase();
  const store = await openStore(database.url);
  try {
    return await timed(store, "Postgres", async (statement) => {
      await database.run(statement);
      await database.run("vacuum analyze");
    });
  } finally {
    await store.close();
  }
}

const results = [await embedded(), await onPostgres()];
if (results.includes(false)) process.exitCode = 1;

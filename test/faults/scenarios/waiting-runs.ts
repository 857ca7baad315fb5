import { setTimeout as sleep } from "node:timers/promises";
import type { QueryResponse, RunDetail } from "@patchbay/protocol";
import { createAdmin } from "@patchbay/server/accounts/admin";
import { openStore } from "@patchbay/store/open";
import { check } from "../checker.ts";
import { largest } from "../figures.ts";
import { until } from "../held-calls.ts";
import type { Lab } from "../lab.ts";
import { queryOf } from "../plan.ts";
import { cpuMs, residentKb } from "../process.ts";
import type { Tenant } from "../tenants.ts";
import { type Scenario, together } from "./scenario.ts";

const AT_ONCE = 32;
/** Runs that are decided one a second, of those that wait. */
const ONE_BY_ONE = 20;
const IDLE_SECONDS = 10;

export const waitingRuns: Scenario = {
  name: "waiting-runs",
  promise: "Runs that wait for approvals cost rows only, and all continue after a restart with their decisions.",
  lab: { tenants: 1, runtimes: 1 },
  async run(lab, { rate: count }) {
    const tenant = lab.tenants[0]!;
    const idle = await cpuOver(lab, IDLE_SECONDS);
    const waiting = await inTurns(count, (index) => ask(lab, tenant, `${tenant.name}.approved.${index}`));
    const memoryKb = memoryOf(lab);
    const idleWaiting = await cpuOver(lab, IDLE_SECONDS);
    const grownMb = (memoryOf(lab) - memoryKb) / 1_024;
    for (const replica of lab.replicas) await replica.kill();
    for (const replica of lab.replicas) await replica.start();

    const approver = await approverOf(lab, tenant);
    const one = waiting.slice(0, Math.min(ONE_BY_ONE, Math.floor(count / 2)));
    const resumedMs: number[] = [];
    for (const run of one) {
      const next = sleep(1_000);
      const decided = performance.now();
      await decide(lab, tenant, approver, run);
      await until(() => hasEnded(lab, tenant, run), "the run continues", 60_000);
      resumedMs.push(performance.now() - decided);
      await next;
    }
    const rest = waiting.slice(one.length);
    const began = performance.now();
    await inTurns(rest.length, (index) => decide(lab, tenant, approver, rest[index]!));
    await until(() => allEnded(lab), "all runs continue", 300_000);
    const allMs = performance.now() - began;

    const found = await check(lab, { endings: [], succeeded: 0 });
    const begun = lab.functionNotes().filter(({ phase, name }) => phase === "begin" && name === "approved_charge");
    const figures = { runs: count, cpuPercent: Math.round(idleWaiting - idle), grownMb: Math.round(grownMb) };
    return together(
      found,
      { ...figures, slowestMs: largest(resumedMs), allMs: Math.round(allMs) },
      { "each handler ran once": begun.length === count && new Set(begun.map(({ id }) => id)).size === count },
    );
  },
};

type Waiting = Pick<QueryResponse, "runId"> & { approvalId: string };

export async function ask(lab: Lab, { agentId, apiKey }: Tenant, id: string): Promise<Waiting> {
  const plan = { id, turns: [[{ name: "approved_charge" as const, id }]] };
  const headers = { "x-api-key": apiKey, "content-type": "application/json" };
  const body = JSON.stringify({ query: queryOf(plan) });
  const response = await fetch(`${lab.url}/agents/${agentId}/query`, { method: "POST", headers, body });
  const { runId, approvals, errorMessage } = (await response.json()) as QueryResponse;
  const [asked] = approvals ?? [];
  if (!asked) throw new Error(`${id} does not wait for an approval: ${errorMessage}`);
  return { runId, approvalId: asked.approvalId };
}

export async function decide(lab: Lab, { agentId }: Tenant, apiKey: string, { approvalId }: Waiting): Promise<void> {
  const response = await fetch(`${lab.url}/agents/${agentId}/approvals/${approvalId}/decision`, {
    method: "POST",
    headers: { "x-api-key": apiKey, "content-type": "application/json" },
    body: JSON.stringify({ approved: true, as: "manager" }),
  });
  if (response.status !== 200) throw new Error(`a decision was answered ${response.status}: ${await response.text()}`);
}

export async function hasEnded(lab: Lab, { agentId, apiKey }: Tenant, { runId }: Waiting): Promise<boolean> {
  const response = await fetch(`${lab.url}/agents/${agentId}/runs/${runId}`, { headers: { "x-api-key": apiKey } });
  return ((await response.json()) as RunDetail).finishedAt !== null;
}

async function allEnded(lab: Lab): Promise<boolean> {
  await using tables = await lab.tables();
  const [open] = await tables.rows<{ count: number }>("select count(*) as count from runs where finished_at is null");
  return Number(open?.count) === 0;
}

export async function approverOf({ database }: Lab, { agentId }: Tenant): Promise<string> {
  const store = await openStore(database);
  const { apiKey } = await createAdmin({ store }).createKey({ agentId, can: ["approve"] });
  await store.close();
  return apiKey;
}

/** Does `work` for each index, a few at a time. */
async function inTurns<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) done[index] = await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return done;
}

const memoryOf = ({ replicas }: Lab): number => replicas.reduce((sum, { pid }) => sum + residentKb(pid), 0);

/** Percent of one core that the replicas use together. */
async function cpuOver({ replicas }: Lab, seconds: number): Promise<number> {
  const total = (): number => replicas.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  const before = total();
  await sleep(seconds * 1_000);
  return (total() - before) / (seconds * 10);
}

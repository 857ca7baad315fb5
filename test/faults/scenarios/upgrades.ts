import { setTimeout as sleep } from "node:timers/promises";
import { inspectStore } from "@patchbay/store/open";
import { check } from "../checker.ts";
import { createClient } from "../client.ts";
import { holdCalls, until } from "../held-calls.ts";
import type { Lab } from "../lab.ts";
import { startLoad } from "../load.ts";
import type { Tenant } from "../tenants.ts";
import { OLD_COMMIT, THIS_VERSION } from "../versions.ts";
import { type Scenario, type Terms, together } from "./scenario.ts";
import { approverOf, ask, decide, hasEnded } from "./waiting-runs.ts";

export const rollingUpgrade: Scenario = {
  name: "rolling-upgrade",
  promise:
    "Replicas of an earlier version serve next to new ones after the migration, and lose no query to the upgrade.",
  lab: { commit: OLD_COMMIT, replicas: 2, tenants: 1 },
  run: upgrade,
};

export const embeddedUpgrade: Scenario = {
  name: "embedded-upgrade",
  promise: "A new version continues the runs of an earlier one on its SQLite file, and clients lose no query.",
  lab: { commit: OLD_COMMIT, embedded: true, tenants: 1 },
  run: upgrade,
};

/**
 * Replaces one replica after the other under load, then the runtimes of the earlier version, then those of this version under load.
 * Runs are open meanwhile: calls that run at the replica that is replaced last, and a run that waits for an approval.
 */
async function upgrade(lab: Lab, { rate, dice }: Terms) {
  const tenant = lab.tenants[0]!;
  const before = await inspectStore(lab.database);
  const load = startLoad(lab, { rate, dice });
  const held = holdCalls(lab, tenant, { queries: 2, calls: 3, replica: lab.replicas.length - 1 });
  await held.running();
  const waiting = await ask(lab, tenant, `${tenant.name}.waiting`);
  const exits: (number | null)[] = [];
  const sideBySide: boolean[] = [];
  for (const [index, replica] of lab.replicas.entries()) {
    exits.push((await replica.terminate()).code);
    replica.use(THIS_VERSION);
    await replica.start();
    await held.release();
    sideBySide.push(await allAnswer(lab, index));
  }
  // A runtime of the earlier version drops a call that arrives while it stops, so that none may arrive then.
  const endings = [...(await load.stop())];
  exits.push(...(await replaceRuntimes(tenant)));
  const next = startLoad(lab, { rate, dice });
  exits.push(...(await replaceRuntimes(tenant)));
  await decide(lab, tenant, await approverOf(lab, tenant), waiting);
  await until(() => hasEnded(lab, tenant, waiting), "the run that waited ends", 60_000);
  await sleep(1_000);
  endings.push(...(await next.stop()), ...(await held.endings));
  const after = await inspectStore(lab.database);
  const refusal = await refusedStart(lab);
  const found = await check(lab, { endings, succeeded: endings.length });
  const began = (name: string) => lab.functionNotes().filter((note) => note.phase === "begin" && note.name === name);
  return together(
    found,
    { migrations: before.pending.length, replaced: exits.length },
    {
      "the earlier version made the database": before.pending.length > 0,
      "all migrations ran": after.pending.length === 0,
      "each process exited with 0": exits.every((code) => code === 0),
      "all replicas answer after each replacement": sideBySide.every(Boolean),
      "calls ran once over the upgrade": held.begun().length === 6 && began("approved_charge").length === 1,
      "the earlier version refuses the newer database": refusal.includes("A newer version of Patchbay has used"),
    },
  );
}

/** Starts a runtime of this version for each one that is connected, and stops the latter. Resolves with their exit codes. */
async function replaceRuntimes(tenant: Tenant): Promise<(number | null)[]> {
  const exits: (number | null)[] = [];
  for (const runtime of tenant.runtimes.filter(({ alive }) => alive)) {
    await tenant.connect(THIS_VERSION);
    exits.push((await runtime.terminate()).code);
  }
  return exits;
}

/** True if each replica answers a query itself. */
async function allAnswer(lab: Lab, round: number): Promise<boolean> {
  const tenant = lab.tenants[0]!;
  const client = createClient({ tenant, lab });
  const endings = await Promise.all(
    lab.replicas.map((_, replica) => {
      const id = `${tenant.name}.after.${round}.${replica}`;
      return client({ plan: { id, turns: [[{ name: "charge", id }]] }, mode: "stream", replica });
    }),
  );
  return endings.every(({ kind, refusals, breaks }) => kind === "succeeded" && refusals === 0 && breaks === 0);
}

/** Why the earlier version does not start. */
async function refusedStart({ replicas: [replica], version }: Lab): Promise<string> {
  await replica!.terminate();
  replica!.use(version);
  const started = replica!.start().then(() => "it started");
  const refusal = await started.catch((error: unknown) => String(error));
  replica!.use(THIS_VERSION);
  await replica!.start();
  return refusal;
}

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "../client.ts";
import { largest } from "../figures.ts";
import { labProcess } from "../process.ts";
import { residentKb } from "../memory.ts";
import { until } from "./held-calls.ts";
import { linksOf } from "./moved-links.ts";
import { type Scenario, together } from "./scenario.ts";

const program = fileURLToPath(new URL("../fleet-process.ts", import.meta.url));

export const reconnectedFleet: Scenario = {
  name: "reconnected-fleet",
  promise: "Thousands of runtimes are connected again within a minute of a restart of every replica.",
  lab: {
    replicas: 2,
    tenants: 1,
    runtimes: 0,
    limits: { connectionsPerKey: 10_000, hellosPerMinute: 100_000 },
  },
  async run(lab, { rate }) {
    const tenant = lab.tenants[0]!;
    const args = [program, lab.url, tenant.agentId, String(rate)];
    const [env, logFile] = [{ PATCHBAY_KEY: tenant.runtimeKey }, join(lab.folder, "logs", "fleet")];
    await using fleet = labProcess("fleet", args, { env, logFile, readyMs: 180_000 });
    await fleet.start();
    const all = async () => (await linksOf(lab)).reduce((sum, links) => sum + links, 0) >= rate;
    await until(all, "each runtime is connected", 60_000);
    const rssMb = Math.round(largest(lab.replicas.map(({ pid }) => residentKb(pid))) / 1_024);

    await Promise.all(lab.replicas.map((replica) => replica.kill()));
    await Promise.all(lab.replicas.map((replica) => replica.start()));
    const backAt = performance.now();
    await until(all, "each runtime is connected again", 180_000);
    const reconnectMs = largest([performance.now() - backAt]);
    const links = await linksOf(lab);
    const ask = createClient({ tenant, urls: () => lab.urls, history: lab.history });
    const id = `${tenant.name}.fleet.1`;
    const ending = await ask({ plan: { id, turns: [[{ name: "charge", id: `${id}.a` }]] }, mode: "json" });
    const problem = ending.kind === "succeeded" ? [] : [`a query ${ending.kind} after the return: ${ending.code}`];
    const figures = { runtimes: rate, reconnectMs, links: links.join("+"), rssMb, queryMs: largest([ending.ms]) };
    return together({ figures: {}, violations: problem }, figures, { "within 60 s": reconnectMs <= 60_000 });
  },
};

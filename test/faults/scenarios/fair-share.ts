import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createAdmin } from "@patchbay/server/accounts/admin";
import { openStore } from "@patchbay/store/open";
import { createClient, type Ending } from "../client.ts";
import { largest, percentile } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { labProcess } from "../process.ts";
import type { Tenant } from "../tenants.ts";
import type { Scenario } from "./scenario.ts";

const program = fileURLToPath(new URL("../attacker-process.ts", import.meta.url));

/** Attacks of a tenant with valid credentials on the process that it shares with others. */
const ATTACKS = ["queries", "results", "frames", "answers", "hellos", "connections", "streams", "lists", "matrix"];

export const fairShare: Scenario = {
  name: "fair-share",
  promise:
    "A tenant that attacks with valid credentials fails no query of another tenant and slows them down only a little.",
  lab: { embedded: true, tenants: 0 },
  async run(lab, { seconds, rate }) {
    const worst = await lab.addTenant({ tier: "sandbox", runtimes: 0 });
    const other = await lab.addTenant({ tier: "sandbox", runtimes: 1 });
    const rights = await rightsOf(lab, worst);

    // The first queries run before code is compiled.
    await asked(lab, other, { seconds: 5, rate, part: "warm" });
    const before = await asked(lab, other, { seconds, rate, part: "before" });
    const medianMs = percentile(
      before.map(({ ms }) => ms),
      0.5,
    );
    const figures: Record<string, number | string> = { medianMs };
    const most = { failed: 0, p95Ms: 0, slowestMs: 0 };
    const broken: string[] = [];
    for (const attack of ATTACKS) {
      const env = { ATTACK: attack, BASE: lab.urls[0]!, SECONDS: String(seconds), ...rights };
      await using attacker = labProcess(`attacker-${attack}`, [program], {
        env,
        logFile: join(lab.folder, "logs", `attacker-${attack}`),
      });
      await attacker.start();
      const endings = await asked(lab, other, { seconds, rate, part: attack });
      const times = endings.map(({ ms }) => ms);
      const failed = endings.filter(({ kind, refusals, breaks }) => kind !== "succeeded" || refusals + breaks > 0);
      const p95Ms = percentile(times, 0.95);
      figures[`${attack}P95Ms`] = p95Ms;
      most.failed += failed.length;
      most.p95Ms = Math.max(most.p95Ms, p95Ms);
      most.slowestMs = largest([most.slowestMs, ...times]);
      if (failed.length > 0) broken.push(`${attack}: ${failed.length} of ${endings.length} queries failed`);
      process.stderr.write(attacker.log());
      await attacker.kill();
      // Remains of the attack, such as open runs, must not count for the next one.
      await sleep(1_000);
    }
    if (lab.replicas[0]!.exits > 0) broken.push("the process ended");
    const p95OfMedian = Math.round((100 * most.p95Ms) / medianMs) / 100;
    return { figures: { ...figures, ...most, p95OfMedian }, violations: broken };
  },
};

/** Sends queries at this rate, independent of the answers. */
async function asked(
  lab: Lab,
  tenant: Tenant,
  { seconds, rate, part }: { seconds: number; rate: number; part: string },
): Promise<Ending[]> {
  const ask = createClient({ tenant, lab, patienceMs: 60_000 });
  const under = Array.from({ length: Math.round(seconds * rate) }, async (_, at) => {
    await sleep((at * 1_000) / rate);
    const id = `${tenant.name}.fair.${part}.${at}`;
    const turns = [[{ name: "charge" as const, id: `${id}.a`, ms: 20 }]];
    return await ask({ plan: { id, turns, thinkMs: 20 }, mode: "json" });
  });
  return await Promise.all(under);
}

/** Every credential that a tenant can have: keys, a pinned key, and the session of a member. */
export async function rightsOf(lab: Lab, tenant: Tenant): Promise<Record<string, string>> {
  const store = await openStore(lab.database);
  const admin = createAdmin({ store });
  const { apiKey: pinned } = await admin.createKey({ agentId: tenant.agentId, roles: ["clerk"] });
  const { orgId } = tenant;
  const email = "worst@example.com";
  const { path } = await admin.members.invite({ orgId, email, role: "owner" });
  await store.close();
  const origin = lab.urls[0]!.replace("127.0.0.1", "localhost");
  const post = (route: string, body: object): Promise<Response> =>
    fetch(`${origin}/api${route}`, {
      method: "POST",
      headers: { "content-type": "application/json", origin },
      body: JSON.stringify(body),
    });
  const link = path.split("#")[1];
  const accepted = await post("/links/accept", { link, name: "Worst", password: "correct horse battery" });
  const cookie = accepted.headers.get("set-cookie")?.split(";")[0] ?? "";
  if (cookie === "") throw new Error(`the invitation was not accepted: ${await accepted.text()}`);
  const { agentId, apiKey, runtimeKey } = tenant;
  return { AGENT: agentId, API_KEY: apiKey, RUNTIME_KEY: runtimeKey, PINNED_KEY: pinned, COOKIE: cookie };
}

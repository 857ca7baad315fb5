import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { createClient, type Ending } from "../client.ts";
import type { Lab } from "../lab.ts";
import { grantMicros, type Tenant } from "../tenants.ts";
import { type Scenario, together } from "./scenario.ts";

const PAID_FOR = 10;
const BODY = { llmConfig: { provider: "openai", maxTokens: 30 } };

export const spentCredits: Scenario = {
  name: "spent-credits",
  promise: "Queries far beyond a balance, all at once and with a replica killed, spend what is there and no more.",
  lab: { tenants: 0 },
  async run(lab, { rate, dice }) {
    const first = await lab.addTenant({ runtimes: 1 });
    const poor = await lab.addTenant({ creditsMicros: 0, runtimes: 1 });
    const ask = asker(lab, dice.digits.bind(dice, 6));
    await ask(first);
    const { hold, cost } = await priceOf(lab, first);
    // The tenth is still held for in full, an eleventh is not.
    const balance = (PAID_FOR - 1) * cost + hold + Math.floor(cost / 2);
    await grantMicros(lab.database, poor.orgId, balance);

    const asked = Array.from({ length: Math.round(rate) }, () => ask(poor));
    await sleep(300);
    await lab.replicas[2]!.kill();
    const endings = await Promise.all(asked);
    await lab.replicas[2]!.start();
    // While many hold, a balance is short that has room for some: those come one by one.
    let last: Ending;
    do endings.push((last = await ask(poor)));
    while (last.kind === "succeeded" && endings.length < 1_000);

    const mayFail = ["insufficient_credits"];
    const found = await check(lab, { endings, succeeded: 1, mayFail });
    await using tables = await lab.tables();
    const [org] = await tables.rows<{ balance: number }>(
      `select balance_micros as balance from orgs where id = '${poor.orgId}'`,
    );
    const charged = Number(found.figures["succeeded"]);
    return together(
      found,
      { paidFor: PAID_FOR, charged, balanceMicros: org?.balance ?? -1 },
      {
        "as many queries as the balance was for": charged === PAID_FOR,
        "each was charged once": org?.balance === balance - charged * cost,
      },
    );
  },
};

function asker(lab: Lab, digits: () => string): (tenant: Tenant) => Promise<Ending> {
  return (tenant) => {
    const ask = createClient({ tenant, urls: () => lab.urls, history: lab.history });
    return ask({ plan: { id: `${tenant.name}.spend.${digits()}`, turns: [] }, mode: "json", body: BODY });
  };
}

async function priceOf(lab: Lab, tenant: Tenant): Promise<{ hold: number; cost: number }> {
  await using tables = await lab.tables();
  const rows = await tables.rows<{ kind: string; micros: number }>(
    `select kind, micros from ledger where org_id = '${tenant.orgId}' and kind <> 'grant'`,
  );
  const of = (kind: string): number => rows.find((row) => row.kind === kind)?.micros ?? 0;
  return { hold: -of("hold"), cost: -of("hold") - of("settle") };
}

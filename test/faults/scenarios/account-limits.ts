import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { createClient, type Ending } from "../client.ts";
import { largest } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { grantMicros, type Tenant } from "../tenants.ts";
import { type Scenario, together } from "./scenario.ts";
import { queryOf } from "../plan.ts";

const PAID_FOR = 10;
const BODY = { llmConfig: { provider: "openai", maxTokens: 30 } };

export const spentCredits: Scenario = {
  name: "spent-credits",
  promise: "Concurrent queries far beyond a balance, with a replica killed, spend exactly the balance.",
  lab: { tenants: 0 },
  async run(lab, { rate, dice }) {
    const first = await lab.addTenant({ runtimes: 1 });
    const poor = await lab.addTenant({ creditsMicros: 0, runtimes: 1 });
    const ask = asker(lab, dice.digits.bind(dice, 6));
    await ask(first);
    const { reservation, cost } = await priceOf(lab, first);
    // The balance covers the reservation of a tenth query, but not of an eleventh.
    const balance = (PAID_FOR - 1) * cost + reservation + Math.floor(cost / 2);
    await grantMicros(lab.database, poor.orgId, balance);

    const asked = Array.from({ length: Math.round(rate) }, () => ask(poor));
    await sleep(300);
    await lab.replicas[2]!.kill();
    const endings = await Promise.all(asked);
    await lab.replicas[2]!.start();
    // Concurrent reservations exhaust the balance early: spend the rest one query at a time.
    let last: Ending;
    do endings.push((last = await ask(poor)));
    while (last.kind === "succeeded" && endings.length < 1_000);

    const mayFail = ["insufficient_credits"];
    const found = await check(lab, { endings, succeeded: 1, mayFail });
    await using tables = await lab.tables();
    const [org] = await tables.rows<{ balance: number }>(
      `select micros as balance from balances where org_id = '${poor.orgId}'`,
    );
    const charged = Number(found.figures["succeeded"]);
    return together(
      found,
      { paidFor: PAID_FOR, charged, balanceMicros: org?.balance ?? -1 },
      {
        "the balance paid for as many queries as it covers": charged === PAID_FOR,
        "each was charged once": org?.balance === balance - charged * cost,
      },
    );
  },
};

function asker(lab: Lab, digits: () => string): (tenant: Tenant) => Promise<Ending> {
  return (tenant) => {
    const ask = createClient({ tenant, lab });
    return ask({ plan: { id: `${tenant.name}.spend.${digits()}`, turns: [] }, mode: "json", body: BODY });
  };
}

async function priceOf(lab: Lab, tenant: Tenant): Promise<{ reservation: number; cost: number }> {
  await using tables = await lab.tables();
  const rows = await tables.rows<{ kind: string; micros: number }>(
    `select kind, micros from ledger where org_id = '${tenant.orgId}' and kind <> 'grant'`,
  );
  const of = (kind: string): number => rows.find((row) => row.kind === kind)?.micros ?? 0;
  return { reservation: -of("reserve"), cost: -of("reserve") - of("settle") };
}

/** Queries per minute of the tier `starter`. */
const LIMIT = 60;

export const rateLimit: Scenario = {
  name: "rate-limit",
  promise: "An organisation's limit of queries per minute applies across all replicas.",
  lab: { tenants: 0 },
  async run(lab, { dice }) {
    const tenant = await lab.addTenant({ tier: "starter", runtimes: 1 });
    const began = performance.now();
    const answers: { status: number; window: number }[] = [];
    // One query after the other at each replica.
    const askAll = async (url: string): Promise<void> => {
      for (let index = 0; index < LIMIT; index++) {
        const response = await fetch(`${url}/agents/${tenant.agentId}/query`, {
          method: "POST",
          headers: { "x-api-key": tenant.apiKey, "content-type": "application/json" },
          body: JSON.stringify({ query: queryOf({ id: `${tenant.name}.limit.${dice.digits(9)}`, turns: [] }) }),
        });
        await response.text();
        answers.push({ status: response.status, window: windowOf(response) });
      }
    };
    await Promise.all(lab.urls.map(askAll));
    const tookSeconds = Math.round((performance.now() - began) / 1_000);
    const found = await check(lab, { endings: [], succeeded: 0 });
    // A minute may end meanwhile: the limit applies to each.
    const windows = [...Map.groupBy(answers, ({ window }) => window).values()].map((statuses) => ({
      asked: statuses.length,
      allowed: statuses.filter(({ status }) => status === 200).length,
    }));
    const limited = answers.filter(({ status }) => status !== 200);
    return together(
      found,
      {
        limit: LIMIT,
        allowed: largest(windows.map(({ allowed }) => allowed)),
        asked: answers.length,
        tookSeconds,
      },
      {
        "within a tenth of the limit": windows.every(
          ({ asked, allowed }) => Math.abs(allowed - Math.min(asked, LIMIT)) <= LIMIT / 10,
        ),
        "the others were answered 429": limited.length > 0 && limited.every(({ status }) => status === 429),
      },
    );
  },
};

/** The minute in which a query was counted, by the seconds that its response says were left. Right if it took less than 59 s. */
function windowOf(response: Response): number {
  const left = Number(/t=(\d+)/.exec(response.headers.get("ratelimit") ?? "")?.[1]);
  return Math.floor((Date.now() + left * 1_000) / 60_000);
}

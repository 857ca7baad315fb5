import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { queryOf } from "../plan.ts";
import { type Scenario, together } from "./scenario.ts";

/** Of the tier `starter`, a minute. */
const LIMIT = 60;

export const rateLimit: Scenario = {
  name: "rate-limit",
  promise: "An organisation's limit of queries a minute holds over all replicas together.",
  lab: { tenants: 0 },
  async run(lab, { dice }) {
    const tenant = await lab.addTenant({ tier: "starter", runtimes: 1 });
    const [limited, began] = [new Set<number>(), performance.now()];
    let allowed = 0;
    for (let index = 0; index < 3 * LIMIT; index++) {
      const response = await fetch(`${lab.urls[index % lab.urls.length]}/agents/${tenant.agentId}/query`, {
        method: "POST",
        headers: { "x-api-key": tenant.apiKey, "content-type": "application/json" },
        body: JSON.stringify({ query: queryOf({ id: `${tenant.name}.limit.${dice.digits(9)}`, turns: [] }) }),
      });
      await response.text();
      if (response.status === 200) allowed++;
      else limited.add(response.status);
      // A window that ends in the middle would count for two: begin anew in the next one.
      if (index === 0) await sleep(untilNext(response, 20));
    }
    const seconds = Math.round((performance.now() - began) / 1_000);
    const found = await check(lab, { endings: [], succeeded: 0 });
    return together(
      found,
      { limit: LIMIT, allowed, asked: 3 * LIMIT, seconds },
      {
        "within a tenth of the limit": Math.abs(allowed - LIMIT) <= LIMIT / 10,
        "the others were told 429": limited.size === 1 && limited.has(429),
      },
    );
  },
};

/** Milliseconds until a window has at least this many seconds left, by what the answer says of it. */
function untilNext(response: Response, needed: number): number {
  const left = Number(/t=(\d+)/.exec(response.headers.get("ratelimit") ?? "")?.[1] ?? 60);
  return left >= needed ? 0 : left * 1_000 + 200;
}

import type { Analytics } from "@patchbay/protocol/console";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import type { Engine } from "@patchbay/store/engine";
import { sum } from "@patchbay/store/runs/run-facts";
import { namesOf } from "../names.ts";
import { PRODUCTION } from "../runs/filter.ts";
import { type Buckets, type FiguresOf, getOrCreate, inSlices, within } from "./time-range.ts";

const SHOWN = 50;

type Breakdowns = Pick<Analytics, "agents" | "keys" | "sources" | "codes">;
type Part = Awaited<ReturnType<typeof partsOf>>[number];

/** Ended queries by agent, key, source and error code, from the run facts: one narrow row per run. */
export async function breakdowns(engine: Engine, of: FiguresOf, buckets: Buckets): Promise<Breakdowns> {
  const parts: Part[] = [];
  await inSlices(of, buckets, async (slice) => {
    parts.push(...(await partsOf(engine, { ...of, ...slice })));
  });
  const agents = sharesOf(parts, ["agentId"]);
  const keys = sharesOf(parts, ["agentId", "keyId"]);
  const failed = parts.flatMap(({ code, ...part }) => (code === null ? [] : [{ ...part, code }]));
  const ids = [...agents.map(({ agentId }) => agentId), ...keys.map(({ keyId }) => keyId)];
  const names = await namesOf(engine, of.orgId, [...new Set(ids)], "hint");
  return {
    agents: agents.map((share) => ({ ...share, name: names.get(share.agentId) ?? share.agentId })),
    keys: keys.map((share) => ({ ...share, name: names.get(share.keyId) ?? null })),
    sources: sharesOf(parts, ["source"]),
    codes: sharesOf(failed, ["agentId", "code"]),
  };
}

const partsOf = ({ db }: Engine, of: FiguresOf) =>
  db
    .selectFrom("run_facts")
    .select(["agent_id as agentId", "key_id as keyId", "source", "code", "status"])
    .select(({ fn, ref }) => [fn.countAll<number>().as("count"), sum(ref("cost_micros")).as("micros")])
    .where(within(of, "created_at"))
    .$if(of.source !== undefined, (some) =>
      some.where("source", "in", of.source === "production" ? PRODUCTION : [of.source!]),
    )
    .groupBy(["agent_id", "key_id", "source", "code", "status"])
    .execute();

/** Sums the parts with equal `by` values and returns those with the most queries. Sums are micro-USD until the end. */
function sharesOf<Row extends Part, By extends keyof Row>(parts: readonly Row[], by: readonly By[]) {
  const shares = new Map<string, Pick<Row, By> & { queries: number; failed: number; costMicros: number }>();
  for (const part of parts) {
    const which = by.map((name) => [name, part[name]] as const);
    const share = getOrCreate(shares, JSON.stringify(which), () => ({
      ...(Object.fromEntries(which) as Pick<Row, By>),
      queries: 0,
      failed: 0,
      costMicros: 0,
    }));
    share.queries += part.count;
    if (part.status === "failed") share.failed += part.count;
    share.costMicros += part.micros;
  }
  return [...shares.values()]
    .toSorted((a, b) => b.queries - a.queries || b.costMicros - a.costMicros)
    .slice(0, SHOWN)
    .map(({ costMicros, ...share }) => ({ ...share, costUsd: usdOf(costMicros) }));
}

import type { Analytics } from "@patchbay/protocol/console";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import type { Engine } from "@patchbay/store/engine";
import { sum } from "@patchbay/store/runs/run-facts";
import { namesOf } from "../names.ts";
import { PRODUCTION } from "../runs/filter.ts";
import { type Buckets, type FiguresOf, inSlices, within } from "./time-range.ts";

const SHOWN = 50;

type Breakdowns = Pick<Analytics, "agents" | "keys" | "sources" | "codes">;
type Parts = Awaited<ReturnType<typeof partsOf>>;

interface Share {
  queries: number;
  failed: number;
  costMicros: number;
}

/** Ended queries by agent, key, source and error code, from the run facts: one narrow row per run. */
export async function breakdowns(engine: Engine, of: FiguresOf, buckets: Buckets): Promise<Breakdowns> {
  const parts: Parts = [];
  await inSlices(of, buckets, async (slice) => {
    parts.push(...(await partsOf(engine, { ...of, ...slice })));
  });
  const agents = sharesOf(parts, ({ agent_id }) => [agent_id]);
  const keys = sharesOf(parts, ({ agent_id, key_id }) => [agent_id, key_id]);
  const failed = parts.filter(({ code }) => code !== null);
  const ids = [...agents, ...keys].flatMap(({ part }) => [part.agent_id, part.key_id]);
  const names = await namesOf(engine, of.orgId, [...new Set(ids)], "hint");
  return {
    agents: agents.map(({ part: { agent_id }, share }) => ({
      agentId: agent_id,
      name: names.get(agent_id) ?? agent_id,
      ...share,
    })),
    keys: keys.map(({ part: { agent_id, key_id }, share }) => ({
      agentId: agent_id,
      keyId: key_id,
      name: names.get(key_id) ?? null,
      ...share,
    })),
    sources: sharesOf(parts, ({ source }) => [source]).map(({ part: { source }, share }) => ({ source, ...share })),
    codes: sharesOf(failed, ({ agent_id, code }) => [agent_id, code]).map(({ part: { agent_id, code }, share }) => ({
      agentId: agent_id,
      code: code!,
      ...share,
    })),
  };
}

const partsOf = ({ db }: Engine, of: FiguresOf) =>
  db
    .selectFrom("run_facts")
    .select(["agent_id", "key_id", "source", "code", "status"])
    .select(({ fn, ref }) => [fn.countAll<number>().as("count"), sum(ref("cost_micros")).as("micros")])
    .where(within(of, "created_at"))
    .$if(of.source !== undefined, (some) =>
      some.where("source", "in", of.source === "production" ? PRODUCTION : [of.source!]),
    )
    .groupBy(["agent_id", "key_id", "source", "code", "status"])
    .execute();

/** Sums the parts with equal `by` values and returns those with the most queries. Sums are micro-USD until the end. */
function sharesOf(parts: Parts, by: (part: Parts[number]) => (string | null)[]) {
  const shares = new Map<string, Share & { part: Parts[number] }>();
  for (const part of parts) {
    const key = JSON.stringify(by(part));
    const share = shares.get(key) ?? { part, queries: 0, failed: 0, costMicros: 0 };
    shares.set(key, share);
    share.queries += part.count;
    if (part.status === "failed") share.failed += part.count;
    share.costMicros += part.micros;
  }
  return [...shares.values()]
    .toSorted((a, b) => b.queries - a.queries || b.costMicros - a.costMicros)
    .slice(0, SHOWN)
    .map(({ part, costMicros, ...counts }) => ({ part, share: { ...counts, costUsd: usdOf(costMicros) } }));
}

import { FUNCTION_NAME } from "@patchbay/protocol";
import type { Analytics } from "@patchbay/protocol/console";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import type { Engine } from "@patchbay/store/engine";
import type { CallRow } from "@patchbay/store/tables/calls";
import { completeness } from "../lists.ts";
import { breakdowns } from "./breakdowns.ts";
import { endedCalls, endedQueries, spentOnTurns, timesToFirstToken } from "./queries.ts";
import {
  addToBin,
  type Bin,
  type Buckets,
  bucketTime,
  type FiguresOf,
  getOrCreate,
  type Histogram,
  inSlices,
  percentile,
  withPercentiles,
} from "./time-range.ts";

const FUNCTIONS_SHOWN = 50;

type Rows<Query extends (...asked: never[]) => Promise<unknown>> = Awaited<ReturnType<Query>>;

/** Rows with counts, as the database groups them. */
interface Counts {
  ended: Rows<typeof endedQueries>;
  spent: Rows<typeof spentOnTurns>;
  firstTokens: Rows<typeof timesToFirstToken>;
  calls: Rows<typeof endedCalls>;
}

type Model = Omit<Counts["spent"][number], "role" | "bucket"> & {
  /** Cost per bucket. */
  costsMicros: number[];
  firstTokens: Histogram;
};

/** Sums of usage. */
const UNSPENT = {
  turns: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  costMicros: 0,
};
const SPENT = Object.keys(UNSPENT) as (keyof typeof UNSPENT)[];

/**
 * Figures over a range. The database groups and counts, so the number of rows read does not grow with the number of
 * queries. Without a source, indexes contain all run and call columns that the statements read; with one, each run is
 * read for its key.
 * A query counts at its acceptance, its tokens at the end of their turns, a call at its end.
 */
export async function analyticsFigures(
  engine: Engine,
  of: FiguresOf,
  buckets: Buckets,
): Promise<Omit<Analytics, "from" | "to" | "bucketMs">> {
  const tally = createTally(buckets);
  await inSlices(of, buckets, async (slice) => {
    const part = { ...of, ...slice };
    const [ended, spent, firstTokens, calls] = await Promise.all([
      endedQueries(engine, part, buckets),
      spentOnTurns(engine, part, buckets),
      timesToFirstToken(engine, part, buckets),
      endedCalls(engine, part),
    ]);
    tally.add({ ended, spent, firstTokens, calls });
  });
  return { ...tally.figures(), ...(await breakdowns(engine, of, buckets)), ...(await completeness(engine, of.orgId)) };
}

/**
 * Adds up rows with counts, including empty buckets. Sums are micro-USD until the end, so that none is rounded twice.
 */
function createTally(buckets: Buckets) {
  const all = newTotals();
  const each = Array.from({ length: buckets.count }, newTotals);
  const models = new Map<string, Model>();
  const roles = new Map<string | null, { role: string | null; queries: number; failed: number; costMicros: number }>();
  const calls = new Map<string, CallSums & { name: string; totalMs: number }>();

  const roleOf = (role: string | null) =>
    getOrCreate(roles, role, () => ({ role, queries: 0, failed: 0, costMicros: 0 }));

  function addEnded({ status, role, bucket, ...bin }: Counts["ended"][number]): void {
    if (status === "queued" || status === "running" || status === "waiting") return;
    for (const totals of [all, each[bucket]!]) {
      totals.ended[status] += bin.count;
      addToBin(totals.times, bin);
    }
    const ofRole = roleOf(role);
    ofRole.queries += bin.count;
    if (status === "failed") ofRole.failed += bin.count;
  }

  const modelOf = ({ provider, model }: Pick<Model, "provider" | "model">) =>
    getOrCreate(models, JSON.stringify([provider, model]), () => ({
      provider,
      model,
      ...UNSPENT,
      firstTokens: new Map(),
      costsMicros: each.map(() => 0),
    }));

  function addSpent({ role, bucket, ...row }: Counts["spent"][number]): void {
    const ofModel = modelOf(row);
    for (const sums of [all.spent, each[bucket]!.spent, ofModel]) for (const name of SPENT) sums[name] += row[name];
    ofModel.costsMicros[bucket]! += row.costMicros;
    roleOf(role).costMicros += row.costMicros;
  }

  return {
    add(counts: Counts): void {
      for (const row of counts.ended) addEnded(row);
      for (const row of counts.spent) addSpent(row);
      for (const row of counts.firstTokens)
        for (const { firstTokens } of [all, each[row.bucket]!, modelOf(row)]) addToBin(firstTokens, row);
      for (const { name, ms, ...row } of counts.calls) {
        // A model may call any text: names that are not valid for a function share one row, to limit their number.
        const known = FUNCTION_NAME.test(name) ? name : "(not a name)";
        const sums = getOrCreate(calls, known, () => ({ name: known, ...noCalls(), totalMs: 0 }));
        addCalls(sums, row);
        if (row.state !== "denied") sums.totalMs += ms;
      }
    },
    /** Models by cost, functions by calls, roles by queries, all in descending order. */
    figures: (): Pick<Analytics, "totals" | "buckets" | "models" | "functions" | "roles"> => ({
      totals: figuresOf(all),
      buckets: each.map((totals, i) => ({ at: bucketTime(buckets, i), ...figuresOf(totals) })),
      models: [...models.values()]
        .toSorted((a, b) => b.costMicros - a.costMicros || b.turns - a.turns)
        .map(({ costMicros, costsMicros, firstTokens, ...model }) => ({
          ...model,
          firstTokenP50Ms: percentile(firstTokens, 0.5),
          costUsd: usdOf(costMicros),
          costs: costsMicros.map(usdOf),
        })),
      functions: [...calls.values()]
        .toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1))
        .slice(0, FUNCTIONS_SHOWN)
        .map(withPercentiles),
      roles: [...roles.values()]
        .toSorted((a, b) => b.queries - a.queries || b.costMicros - a.costMicros)
        .map(({ costMicros, ...role }) => ({ ...role, costUsd: usdOf(costMicros) })),
    }),
  };
}

const newTotals = () => ({
  ended: { succeeded: 0, failed: 0, cancelled: 0 },
  times: new Map() as Histogram,
  firstTokens: new Map() as Histogram,
  spent: { ...UNSPENT },
});

const figuresOf = ({ ended, times, firstTokens, spent }: ReturnType<typeof newTotals>): Analytics["totals"] => ({
  ...withPercentiles({ ...ended, times }),
  p99Ms: percentile(times, 0.99),
  firstTokenP50Ms: percentile(firstTokens, 0.5),
  firstTokenP95Ms: percentile(firstTokens, 0.95),
  inputTokens: spent.inputTokens,
  cachedInputTokens: spent.cachedInputTokens,
  outputTokens: spent.outputTokens,
  costUsd: usdOf(spent.costMicros),
});

/** One function's calls. Durations exclude denied calls. */
export interface CallSums {
  calls: number;
  failed: number;
  denied: number;
  times: Histogram;
}

export const noCalls = (): CallSums => ({ calls: 0, failed: 0, denied: 0, times: new Map() });

export function addCalls(sums: CallSums, { state, ...bin }: Pick<CallRow, "state"> & Bin): void {
  sums.calls += bin.count;
  if (state === "denied") {
    sums.denied += bin.count;
    return;
  }
  if (state === "failed") sums.failed += bin.count;
  addToBin(sums.times, bin);
}

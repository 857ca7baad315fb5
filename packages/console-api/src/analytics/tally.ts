import { FUNCTION_NAME, type RunStatus } from "@patchbay/protocol";
import type { Analytics } from "@patchbay/protocol/console";
import { usdOf } from "@patchbay/server/accounts/admin-accounts";
import { addToBin, type Bin, type Buckets, bucketTime, type Histogram, percentile } from "./time-range.ts";
import type { CallRow } from "@patchbay/store/tables/calls";

const FUNCTIONS_SHOWN = 50;

/** Rows with counts, as the database groups them. */
export interface Counts {
  ended: (Bin & { status: RunStatus; role: string | null; bucket: number })[];
  spent: (Omit<Model, "costsMicros" | "firstTokens"> & { role: string | null; bucket: number })[];
  firstTokens: (Bin & { provider: string; model: string; bucket: number })[];
  calls: CallCount[];
}

/** One function's calls with the same state and similar duration. */
interface CallCount extends Bin {
  name: string;
  state: CallRow["state"];
  ms: number;
}

interface Model {
  provider: string;
  model: string;
  turns: number;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteInputTokens: number;
  outputTokens: number;
  costMicros: number;
  /** Cost per bucket. */
  costsMicros: number[];
  firstTokens: Histogram;
}

interface Totals {
  ended: Record<"succeeded" | "failed" | "cancelled", number>;
  times: Histogram;
  firstTokens: Histogram;
  spent: { inputTokens: number; cachedInputTokens: number; outputTokens: number; costMicros: number };
}

/**
 * Adds up rows with counts, including empty buckets. Sums are micro-USD until the end, so that none is rounded twice.
 */
export function createTally(buckets: Buckets) {
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
    getOrCreate(models, JSON.stringify([provider, model]), () => newModel(provider, model, buckets.count));

  function addSpent({ role, bucket, ...row }: Counts["spent"][number]): void {
    const { costMicros } = row;
    const ofModel = modelOf(row);
    for (const sums of [all.spent, each[bucket]!.spent, ofModel]) {
      sums.inputTokens += row.inputTokens;
      sums.cachedInputTokens += row.cachedInputTokens;
      sums.outputTokens += row.outputTokens;
      sums.costMicros += costMicros;
    }
    ofModel.turns += row.turns;
    ofModel.cacheWriteInputTokens += row.cacheWriteInputTokens;
    ofModel.costsMicros[bucket]! += costMicros;
    roleOf(role).costMicros += costMicros;
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
        .map(({ times, ...sums }) => ({ ...sums, p50Ms: percentile(times, 0.5), p95Ms: percentile(times, 0.95) })),
      roles: [...roles.values()]
        .toSorted((a, b) => b.queries - a.queries || b.costMicros - a.costMicros)
        .map(({ costMicros, ...role }) => ({ ...role, costUsd: usdOf(costMicros) })),
    }),
  };
}

const newTotals = (): Totals => ({
  ended: { succeeded: 0, failed: 0, cancelled: 0 },
  times: new Map(),
  firstTokens: new Map(),
  spent: { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, costMicros: 0 },
});

const newModel = (provider: string, model: string, buckets: number): Model => ({
  provider,
  model,
  turns: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  costMicros: 0,
  firstTokens: new Map(),
  costsMicros: Array.from({ length: buckets }, () => 0),
});

const figuresOf = ({ ended, times, firstTokens, spent: { costMicros, ...tokens } }: Totals): Analytics["totals"] => ({
  ...ended,
  p50Ms: percentile(times, 0.5),
  p95Ms: percentile(times, 0.95),
  p99Ms: percentile(times, 0.99),
  firstTokenP50Ms: percentile(firstTokens, 0.5),
  firstTokenP95Ms: percentile(firstTokens, 0.95),
  ...tokens,
  costUsd: usdOf(costMicros),
});

/** One function's calls. Durations exclude denied calls. */
export interface CallSums {
  calls: number;
  failed: number;
  denied: number;
  times: Histogram;
}

export const noCalls = (): CallSums => ({ calls: 0, failed: 0, denied: 0, times: new Map() });

export function addCalls(sums: CallSums, { state, ...bin }: Pick<CallCount, "state"> & Bin): void {
  sums.calls += bin.count;
  if (state === "denied") {
    sums.denied += bin.count;
    return;
  }
  if (state === "failed") sums.failed += bin.count;
  addToBin(sums.times, bin);
}

export function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = create();
  map.set(key, fresh);
  return fresh;
}

import { FUNCTION_NAME, type RunStatus } from "@patchbay/protocol";
import type { Analytics } from "@patchbay/protocol/console";
import { usdOf } from "../../accounts/admin-accounts.ts";
import { addToBin, type Bin, type Buckets, bucketTime, type Histogram, percentile } from "./time-range.ts";
import type { CallRow } from "../../store/run-record.ts";

const FUNCTIONS_SHOWN = 50;

/** Rows of counts, as the database groups them. */
export interface Counts {
  ended: (Bin & { status: RunStatus; role: string | null; bucket: number })[];
  spent: (Omit<Model, "costsMicros" | "firstTokens"> & { role: string | null; bucket: number })[];
  firstTokens: (Bin & { provider: string; model: string; bucket: number })[];
  calls: CallCount[];
}

/** Calls of one function with the same state and about the same duration. */
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
  /** Cost of each bucket. */
  costsMicros: number[];
  firstTokens: Histogram;
}

interface Totals {
  ended: Record<"succeeded" | "failed" | "cancelled", number>;
  times: Histogram;
  firstTokens: Histogram;
  spent: { inputTokens: number; cachedInputTokens: number; outputTokens: number; costMicros: number };
}

/** Adds up rows of counts; empty buckets are included. Sums are micro-USD until the end, so that none is rounded twice. */
export function createTally(buckets: Buckets) {
  const all = newTotals();
  const each = Array.from({ length: buckets.count }, newTotals);
  const models = new Map<string, Model>();
  const roles = new Map<string | null, { role: string | null; queries: number; failed: number; costMicros: number }>();
  const calls = callTally();

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
      for (const row of counts.calls) calls.add(row);
    },
    /** Models by cost, functions by calls, roles by queries, the largest first. */
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
      functions: calls.figures().slice(0, FUNCTIONS_SHOWN),
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

/** Adds up calls by function. Durations leave denied calls out. */
function callTally() {
  const functions = new Map<
    string,
    { calls: number; failed: number; denied: number; totalMs: number; times: Histogram }
  >();
  return {
    add({ name, state, ms, ...bin }: CallCount): void {
      const { count } = bin;
      // A model may call any text: names that no function can have share one row, so that their number has a limit.
      const known = FUNCTION_NAME.test(name) ? name : "(not a name)";
      const called = getOrCreate(functions, known, () => ({
        calls: 0,
        failed: 0,
        denied: 0,
        totalMs: 0,
        times: new Map<number, Bin>(),
      }));
      called.calls += count;
      if (state === "denied") {
        called.denied += count;
        return;
      }
      if (state === "failed") called.failed += count;
      called.totalMs += ms;
      addToBin(called.times, bin);
    },
    figures: (): Analytics["functions"] =>
      [...functions]
        .map(([name, { times, ...counts }]) => ({
          name,
          ...counts,
          p50Ms: percentile(times, 0.5),
          p95Ms: percentile(times, 0.95),
        }))
        .toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)),
  };
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = create();
  map.set(key, fresh);
  return fresh;
}

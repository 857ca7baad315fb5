import type { RunStatus } from "@patchbay/protocol";
import type { Figures, ModelFigures, QueryFigures, RoleFigures } from "../../ports/console-insight.ts";
import { callTally, type CallCount } from "./call-tally.ts";
import { addToBin, type Histogram, percentile } from "./percentiles.ts";

/** Counts as the database groups them. */
export interface Counts {
  ended: { status: RunStatus; role: string | null; bucket: number; bin: number; count: number }[];
  spent: (Omit<ModelFigures, "costsMicros"> & { role: string | null; bucket: number })[];
  calls: CallCount[];
}

/** Puts counts together, without a gap between the buckets. */
export function createTally(buckets: number) {
  const all = newTotals();
  const each = Array.from({ length: buckets }, newTotals);
  const models = new Map<string, ModelFigures>();
  const roles = new Map<string | null, RoleFigures>();
  const calls = callTally();

  function addEnded({ status, role, bucket, bin, count }: Counts["ended"][number]): void {
    if (status === "queued" || status === "running") return;
    for (const totals of [all, each[bucket]!]) {
      totals.ended[status] += count;
      addToBin(totals.times, bin, count);
    }
    const ofRole = made(roles, role, () => newRole(role));
    ofRole.queries += count;
    if (status === "failed") ofRole.failed += count;
  }

  function addSpent({ role, bucket, ...row }: Counts["spent"][number]): void {
    const { provider, model, costMicros } = row;
    const ofModel = made(models, JSON.stringify([provider, model]), () => newModel(provider, model, buckets));
    for (const sums of [all.spent, each[bucket]!.spent, ofModel]) {
      sums.inputTokens += row.inputTokens;
      sums.outputTokens += row.outputTokens;
      sums.costMicros += costMicros;
    }
    ofModel.turns += row.turns;
    ofModel.cachedInputTokens += row.cachedInputTokens;
    ofModel.cacheWriteInputTokens += row.cacheWriteInputTokens;
    ofModel.costsMicros[bucket]! += costMicros;
    made(roles, role, () => newRole(role)).costMicros += costMicros;
  }

  return {
    add(counts: Counts): void {
      for (const row of counts.ended) addEnded(row);
      for (const row of counts.spent) addSpent(row);
      for (const row of counts.calls) calls.add(row);
    },
    figures: (): QueryFigures => ({
      totals: figuresOf(all),
      buckets: each.map(figuresOf),
      models: [...models.values()].toSorted((a, b) => b.costMicros - a.costMicros || b.turns - a.turns),
      functions: calls.figures(),
      roles: [...roles.values()].toSorted((a, b) => b.queries - a.queries || b.costMicros - a.costMicros),
    }),
  };
}

interface Totals {
  ended: Record<"succeeded" | "failed" | "cancelled", number>;
  times: Histogram;
  spent: Pick<Figures, "inputTokens" | "outputTokens" | "costMicros">;
}

const newTotals = (): Totals => ({
  ended: { succeeded: 0, failed: 0, cancelled: 0 },
  times: new Map(),
  spent: { inputTokens: 0, outputTokens: 0, costMicros: 0 },
});

const newRole = (role: string | null): RoleFigures => ({ role, queries: 0, failed: 0, costMicros: 0 });

const newModel = (provider: string, model: string, buckets: number): ModelFigures => ({
  provider,
  model,
  turns: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  costMicros: 0,
  costsMicros: Array.from({ length: buckets }, () => 0),
});

const figuresOf = ({ ended, times, spent }: Totals): Figures => ({
  ...ended,
  p50Ms: percentile(times, 0.5),
  p95Ms: percentile(times, 0.95),
  p99Ms: percentile(times, 0.99),
  ...spent,
});

/** The value of this key, made where there is none. */
function made<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = make();
  map.set(key, fresh);
  return fresh;
}

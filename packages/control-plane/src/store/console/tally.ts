import type { RunStatus } from "@patchbay/protocol";
import type { Figures, ModelFigures, QueryFigures, RoleFigures } from "../../ports/console-insight.ts";
import { addToBin, type Histogram, percentile } from "./percentiles.ts";

interface Counted {
  status: RunStatus;
  count: number;
}

/** Counts as the database groups them. */
export interface Counts {
  ended: (Counted & { bucket: number; bin: number })[];
  roles: (Counted & { role: string | null })[];
  spent: (Omit<ModelFigures, "costsMicros"> & { role: string | null; bucket: number })[];
}

/** Puts the counts together, without a gap between the buckets. */
export function tallyOf(buckets: number, { ended, roles, spent }: Counts): Omit<QueryFigures, "functions"> {
  const all = newTally();
  const each = Array.from({ length: buckets }, newTally);
  for (const row of ended) {
    addEnded(all, row);
    addEnded(each[row.bucket]!, row);
  }
  for (const row of spent) {
    addSpent(all, row);
    addSpent(each[row.bucket]!, row);
  }
  return {
    totals: figuresOf(all),
    buckets: each.map(figuresOf),
    models: modelsOf(spent, buckets),
    roles: rolesOf(roles, spent),
  };
}

interface Tally {
  ended: Record<"succeeded" | "failed" | "cancelled", number>;
  times: Histogram;
  spent: Pick<Figures, "inputTokens" | "outputTokens" | "costMicros">;
}

const newTally = (): Tally => ({
  ended: { succeeded: 0, failed: 0, cancelled: 0 },
  times: new Map(),
  spent: { inputTokens: 0, outputTokens: 0, costMicros: 0 },
});

function addEnded({ ended, times }: Tally, { status, bin, count }: Counts["ended"][number]): void {
  if (status === "queued" || status === "running") return;
  ended[status] += count;
  addToBin(times, bin, count);
}

function addSpent({ spent }: Tally, row: Counts["spent"][number]): void {
  spent.inputTokens += row.inputTokens;
  spent.outputTokens += row.outputTokens;
  spent.costMicros += row.costMicros;
}

const figuresOf = ({ ended, times, spent }: Tally): Figures => ({
  ...ended,
  p50Ms: percentile(times, 0.5),
  p95Ms: percentile(times, 0.95),
  p99Ms: percentile(times, 0.99),
  ...spent,
});

function modelsOf(spent: Counts["spent"], buckets: number): ModelFigures[] {
  const models = new Map<string, ModelFigures>();
  for (const { provider, model, bucket, turns, inputTokens, cachedInputTokens, outputTokens, costMicros } of spent) {
    const key = JSON.stringify([provider, model]);
    const sum = models.get(key) ?? newModel(provider, model, buckets);
    models.set(key, sum);
    sum.turns += turns;
    sum.inputTokens += inputTokens;
    sum.cachedInputTokens += cachedInputTokens;
    sum.outputTokens += outputTokens;
    sum.costMicros += costMicros;
    sum.costsMicros[bucket]! += costMicros;
  }
  return [...models.values()].toSorted((a, b) => b.costMicros - a.costMicros || b.turns - a.turns);
}

const newModel = (provider: string, model: string, buckets: number): ModelFigures => ({
  ...{ provider, model, turns: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, costMicros: 0 },
  costsMicros: Array.from({ length: buckets }, () => 0),
});

function rolesOf(ended: Counts["roles"], spent: Counts["spent"]): RoleFigures[] {
  const roles = new Map<string | null, RoleFigures>();
  const figures = (role: string | null): RoleFigures => {
    const sum = roles.get(role) ?? { role, queries: 0, failed: 0, costMicros: 0 };
    roles.set(role, sum);
    return sum;
  };
  for (const { role, status, count } of ended) {
    figures(role).queries += count;
    if (status === "failed") figures(role).failed += count;
  }
  for (const { role, costMicros } of spent) figures(role).costMicros += costMicros;
  return [...roles.values()].toSorted((a, b) => b.queries - a.queries || b.costMicros - a.costMicros);
}

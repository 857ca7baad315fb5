import type { Budget } from "@patchbay/engine/ports/store/upkeep";

/** Work in batches that ends when the signal is aborted. */
export interface Pass {
  signal?: AbortSignal | undefined;
  /** Runs a batch within the budget, and returns its row count; 0 without running it when the signal is aborted. */
  spend(batch: () => Promise<number>): Promise<number>;
}

/** Batches of one kind within a budget. */
export const passOf = (kind: string, budget: Budget, signal?: AbortSignal): Pass => ({
  signal,
  spend: (batch) => budget.spend(kind, batch, { signal }),
});

/** Runs one statement that is not one of many batches. */
export const once = ({ spend }: Pass, statement: () => Promise<unknown>): Promise<number> =>
  spend(async () => {
    await statement();
    return 0;
  });

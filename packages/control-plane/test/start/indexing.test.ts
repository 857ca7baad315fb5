import { expect, test } from "vitest";
import { silentLog } from "../../src/ports/log.ts";
import { startIndexing } from "../../src/start/indexing.ts";

/** An index that notes what is asked of it, and a clock whose sleeps the test ends. */
function noted({ fails = false } = {}) {
  const asked: string[] = [];
  const sleeping: (() => void)[] = [];
  const slept = Promise.withResolvers<void>();
  let waits = slept;
  const clock = {
    now: () => 0,
    sleep: (_ms: number, { signal }: { signal?: AbortSignal } = {}) =>
      new Promise<void>((resolve, reject) => {
        sleeping.push(resolve);
        waits.resolve();
        signal?.addEventListener("abort", () => reject(new Error("aborted")));
      }),
  };
  const index = {
    async catchUp() {
      asked.push("catchUp");
    },
    async record(budgetMs?: number) {
      asked.push(`record ${budgetMs}`);
      if (fails) throw new Error("disk full");
    },
  };
  /** Resolves when the work sleeps; then ends the sleep. */
  async function pass(): Promise<void> {
    await waits.promise;
    waits = Promise.withResolvers<void>();
    sleeping.shift()!();
  }
  return { asked, clock, index, pass, idle: () => waits.promise };
}

test("ended runs are stored every second, those of crashed replicas found every minute, and the last ones at the end", async () => {
  const { asked, clock, index, pass, idle } = noted();
  {
    await using _indexing = startIndexing(index, { clock, log: silentLog });
    for (let i = 0; i < 60; i++) await pass();
    await idle();
  }

  expect(asked.filter((call) => call === "catchUp")).toHaveLength(2);
  expect(asked.slice(0, 3)).toEqual(["catchUp", "record 40", "record 40"]);
  expect(asked.at(-1)).toBe("record 1000");
});

test("a failure does not end the work", async () => {
  const { asked, clock, index, pass, idle } = noted({ fails: true });
  {
    await using _indexing = startIndexing(index, { clock, log: silentLog });
    await pass();
    await idle();
  }

  expect(asked.filter((call) => call === "record 40")).toHaveLength(2);
});

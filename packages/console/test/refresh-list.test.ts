import { InfiniteQueryObserver, QueryClient } from "@tanstack/react-query";
import { expect, onTestFinished, test } from "vitest";
import { refetchChanged } from "../src/api/refresh-list.ts";

interface Run {
  runId: number;
  finishedAt: string | null;
}

/** A list of runs with three loaded pages of two, newest first, and the cursors of its requests. */
async function loaded(runs: Run[], path = "/agents/:agent_id/runs") {
  const client = new QueryClient();
  const asked: (string | undefined)[] = [];
  const list = new InfiniteQueryObserver(client, {
    queryKey: ["list", path, {}, {}],
    queryFn: async ({ pageParam }) => {
      asked.push(pageParam);
      const after = pageParam === undefined ? Infinity : Number(pageParam);
      const items = runs
        .filter(({ runId }) => runId < after)
        .toSorted((a, b) => b.runId - a.runId)
        .slice(0, 2)
        .map((run) => ({ ...run }));
      const last = items.at(-1)?.runId ?? 0;
      return { items, nextCursor: runs.some(({ runId }) => runId < last) ? String(last) : null };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
  });
  onTestFinished(list.subscribe(() => {}));
  await list.refetch();
  await list.fetchNextPage();
  await list.fetchNextPage();
  asked.length = 0;
  const shown = () => list.getCurrentResult().data?.pages.flatMap(({ items }) => items.map(({ runId }) => runId));
  const refresh = async (): Promise<void> => {
    refetchChanged(client, () => true);
    await new Promise((resolve) => setTimeout(resolve));
    while (client.isFetching() > 0) await new Promise((resolve) => setTimeout(resolve));
  };
  return { runs, asked, shown, refresh, list };
}

const ended = (...ids: number[]): Run[] => ids.map((runId) => ({ runId, finishedAt: "then" }));

test("a change fetches the first page only, and keeps the others with their rows", async () => {
  const { runs, asked, shown, refresh } = await loaded(ended(6, 5, 4, 3, 2, 1));
  expect(shown()).toEqual([6, 5, 4, 3, 2, 1]);

  runs.push(...ended(7));
  await refresh();

  expect(asked).toEqual([undefined]);
  expect(shown()).toEqual([7, 6, 5, 4, 3, 2, 1]);
});

test("pages with an open run are fetched too", async () => {
  const { runs, asked, shown, refresh, list } = await loaded([
    ...ended(6, 5, 4),
    { runId: 3, finishedAt: null },
    ...ended(2, 1),
  ]);

  runs.find(({ runId }) => runId === 3)!.finishedAt = "now";
  await refresh();

  expect(asked).toEqual([undefined, "5"]);
  expect(shown()).toEqual([6, 5, 4, 3, 2, 1]);
  expect(list.getCurrentResult().data?.pages[1]?.items[1]).toEqual({ runId: 3, finishedAt: "now" });
});

test("an erased row goes, and after more changes than a page has rows the whole list is fetched", async () => {
  const { runs, asked, shown, refresh } = await loaded(ended(6, 5, 4, 3, 2, 1));

  runs.splice(0, 1);
  runs.push(...ended(9, 8, 7));
  await refresh();

  expect(asked).toContain("8");
  expect(shown()?.slice(0, 4)).toEqual([9, 8, 7, 5]);
});

test("a list without known ids is fetched as a whole", async () => {
  const { asked, refresh } = await loaded(ended(6, 5, 4, 3, 2, 1), "/agents/:agent_id/runtimes");

  await refresh();

  expect(asked).toHaveLength(3);
});

import { runFilter, RunSort } from "@patchbay/protocol/console";
import { z } from "zod";
import { AdminError } from "../../accounts/admin-error.ts";
import { type ExportedSet, MOST_TESTS, type TestFile, testFilesOf } from "../../recording/test-file.ts";
import type { OpenStore } from "../../store/open.ts";
import { type ConsoleQueries, createConsoleQueries } from "../queries.ts";
import type { Sorted } from "./facts.ts";
import { filterOf, type RunFilter } from "./filter.ts";

/** The runs of an agent that match, the newest first or in the order asked for, as far as one export has them. */
export async function runsToExport(
  { runs }: Pick<ConsoleQueries, "runs">,
  { orgId, agentId }: { orgId: string; agentId: string },
  asked: RunFilter & Sorted,
): Promise<ExportedSet> {
  const found: ExportedSet["runs"][number][] = [];
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await runs.list(orgId, agentId, { ...asked, limit: MOST_TESTS, cursor });
    found.push(...items.map(({ runId, query }) => ({ agentId, runId, query })));
    if (nextCursor === null || found.length > MOST_TESTS)
      return { runs: found.slice(0, MOST_TESTS), more: found.length > MOST_TESTS || nextCursor !== null };
    cursor = nextCursor;
  }
}

const FILTER = z.strictObject({ ...runFilter, sort: RunSort.optional() });

/**
 * Files of tests that replay the runs of an agent. `filter`: the parameters of the console's list of runs, as in
 * `feedback=bad&tag=refund`. Throws `AdminError` for an unknown agent or filter.
 */
export async function exportTests(
  store: OpenStore,
  agentId: string,
  filter: string,
): Promise<AsyncGenerator<TestFile, undefined, undefined>> {
  const agent = await store.accounts.getAgent(agentId);
  if (!agent) throw new AdminError(`Agent ${agentId} was not found: see patchbay agents list.`);
  const asked = FILTER.safeParse(Object.fromEntries(new URLSearchParams(filter)));
  if (!asked.success) {
    const { path, message } = asked.error.issues[0]!;
    throw new AdminError(`The filter ${filter} cannot be read: ${[...path, message].join(": ")}.`);
  }
  const { sort, ...named } = asked.data;
  const set = await runsToExport(createConsoleQueries(store.engine), agent, { ...filterOf(named), sort });
  return testFilesOf(store, set);
}

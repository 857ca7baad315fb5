import { runFilter, RunSort } from "@patchbay/protocol/console";
import { z } from "zod";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import { type TestFile, testFilesOf } from "@patchbay/server/recording/test-file";
import type { OpenStore } from "@patchbay/store/open";
import { createConsoleQueries } from "../queries.ts";
import { runsToExport } from "./export.ts";
import { filterOf } from "./filter.ts";

const FILTER = z.strictObject({ ...runFilter, sort: RunSort.optional() });

/**
 * Test files that replay an agent's runs. `filter`: the query string of the console's run list, as in
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

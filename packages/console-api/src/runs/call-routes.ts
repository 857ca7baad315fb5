import { isoTime, present } from "@patchbay/kit";
import type { RecordAdmin } from "@patchbay/server/accounts/admin-records";
import { hasScopes } from "../actors.ts";
import type { ConsoleDeps, Handlers } from "../handler.ts";
import { type ExportDeps, ndjson } from "./export.ts";
import { msOf } from "./filter.ts";

/** The export of an agent's calls. */
export function callRoutes({ adminOf, ...deps }: Pick<ConsoleDeps, "adminOf"> & ExportDeps) {
  return {
    "GET /agents/:agent_id/calls"({ by, agent: { agentId }, query: { from, cursor }, exchange }) {
      const calls = adminOf(by.actorId).storedCalls(agentId, present({ cursor, since: msOf(from) }));
      const pages = pagesOf(calls, hasScopes(by, ["calls:content"]));
      return ndjson(exchange, by, deps, { name: `calls-${agentId}`, pages });
    },
  } satisfies Handlers;
}

/** One line a page. The first line of a function set has its manifest. */
async function* pagesOf(
  calls: ReturnType<RecordAdmin["storedCalls"]>,
  content: boolean,
): AsyncGenerator<object[], undefined, undefined> {
  const sent = new Set<string | undefined>();
  for await (const { arguments: given, context, finishedAt, manifest, ...call } of calls) {
    const set = sent.has(call.manifestHash) ? {} : { manifest };
    sent.add(call.manifestHash);
    yield [{ ...call, ...set, finishedAt: isoTime(finishedAt), ...(content && { arguments: given, context }) }];
  }
  return undefined;
}

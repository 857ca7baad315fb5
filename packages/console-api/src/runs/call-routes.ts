import { isoTime, present } from "@patchbay/kit";
import type { Judgement, Manifest } from "@patchbay/protocol";
import type { ListedCall } from "@patchbay/engine/ports/store/call-store";
import { hasScopes } from "../actors.ts";
import type { ConsoleDeps, Handlers } from "../handler.ts";
import { type ExportDeps, ndjson } from "./export.ts";
import { msOf } from "./filter.ts";

type Call = ListedCall & { manifest: Manifest | undefined };

/** The export of an agent's calls. */
export function callRoutes({ adminOf, gateway, ...deps }: Pick<ConsoleDeps, "adminOf" | "gateway"> & ExportDeps) {
  return {
    "GET /agents/:agent_id/calls"({ by, agent: { agentId }, query, exchange, signal }) {
      const { from, cursor, candidate } = query;
      const calls = adminOf(by.actorId).storedCalls(agentId, present({ cursor, since: msOf(from) }));
      const judge = async (call: Call) =>
        candidate === undefined ? undefined : await gateway.judge(agentId, candidate, call, signal);
      const pages = pagesOf(calls, { content: hasScopes(by, ["calls:content"]), judge });
      return ndjson(exchange, by, deps, { name: `calls-${agentId}`, pages });
    },
  } satisfies Handlers;
}

/** Calls in a page: a candidate judges them at the same time. */
const AT_ONCE = 20;

/** The first line of a function set has its manifest. */
async function* pagesOf(
  calls: AsyncIterable<Call>,
  { content, judge }: { content: boolean; judge: (call: Call) => Promise<Judgement | undefined> },
): AsyncGenerator<object[], undefined, undefined> {
  const sent = new Set<string | undefined>();
  for await (const batch of batchesOf(calls)) {
    const judgements = await Promise.all(batch.map(judge));
    yield batch.map(({ arguments: given, context, finishedAt, manifest, ...call }, i) => {
      const set = sent.has(call.manifestHash) ? {} : { manifest };
      sent.add(call.manifestHash);
      const more = { ...set, ...present({ judgement: judgements[i] }), ...(content && { arguments: given, context }) };
      return { ...call, ...more, finishedAt: isoTime(finishedAt) };
    });
  }
  return undefined;
}

async function* batchesOf(calls: AsyncIterable<Call>): AsyncGenerator<Call[]> {
  let batch: Call[] = [];
  for await (const call of calls) {
    batch.push(call);
    if (batch.length < AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

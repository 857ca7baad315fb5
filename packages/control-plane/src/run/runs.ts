import { MESSAGES, type QueryResponse, type RunDetail, type RunStatus, type Usage } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { RunRecord } from "../ports/records.ts";
import type { RunFacts } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import { createAcceptance, type AcceptDeps } from "./accept.ts";
import { mayAct } from "./access.ts";
import { answerIn, usageOf } from "./answer.ts";
import type { Caller, RunHandle, Runs } from "./api.ts";
import { joining } from "./either-signal.ts";
import { createExecutor } from "./executor.ts";
import { follow } from "./follow.ts";
import { ends, succeeds } from "./last-event.ts";
import { patiently } from "./patience.ts";
import { createReaders } from "./readers.ts";
import { stepwise } from "./stepwise.ts";
import { createWatch } from "./watch.ts";

const ERASE_WAIT_MS = 5_000;
const ended = (status: RunStatus): boolean => status !== "queued" && status !== "running";

/** The core: one query from its acceptance to its last event, and everything that can be asked of it afterwards. */
export function createRuns(options: { owner: string; bus: Bus }, deps: AcceptDeps): Runs {
  const executor = createExecutor(options.owner, options.bus, deps);
  const { accept, join } = createAcceptance(executor, deps);
  const watch = createWatch(deps);
  const closing = new AbortController();
  let watching: Promise<void> = Promise.resolve();
  const readers = createReaders(options.bus, (run) => void requestCancel(run.agentId, run.runId).catch(warn));

  function warn(error: unknown): void {
    deps.log.warn("a run could not be cancelled", { cause: error });
  }

  async function requestCancel(agentId: string, runId: string): Promise<RunStatus | undefined> {
    const status = await deps.runs.requestCancel(agentId, runId);
    if (status && !ended(status)) executor.cancel(runId);
    return status;
  }

  /** A pinned key sees runs of its roles and of no role. */
  async function seen(caller: Caller, runId: string): Promise<RunFacts | undefined> {
    const run = await deps.runs.facts(caller.agentId, runId);
    return run && mayAct(caller, run.role) ? run : undefined;
  }

  const following = { runs: deps.runs, feed: deps.feed, watch, orDraining: joining(executor.draining) };
  const log = (run: Pick<RunHandle, "runId">, options: Parameters<typeof follow>[1]) => follow(run, options, following);

  /** Waits for the last event of a run; undefined when the wait was ended first, or the run erased. */
  async function lastEvent(run: Pick<RunHandle, "runId">, signal: AbortSignal): Promise<string | undefined> {
    let last = "";
    for await (const event of log(run, { after: 0, deltas: false, signal })) last = event.body;
    return ends(last) ? last : undefined;
  }

  async function resultText(run: RunHandle, { signal }: { signal: AbortSignal }): Promise<string | undefined> {
    const last = await lastEvent(run, signal);
    // It holds all of the answer, so that nothing need be read.
    if (last !== undefined && succeeds(last)) return answerIn(last);
    const record = await patiently(() => deps.runs.get(run.agentId, run.runId), { ...deps, signal });
    if (!record) throw new ServiceError("not_found", "The run was erased with its thread");
    return last === undefined || !record.result ? undefined : JSON.stringify(record.result);
  }

  return {
    start: accept,
    join,
    // A stream is read from outside of the request that opened it, and as nobody in particular.
    follow: (run, options) => stepwise(log(run, options)),
    async result(run, options): Promise<QueryResponse | undefined> {
      const text = await resultText(run, options);
      return text === undefined ? undefined : (JSON.parse(text) as QueryResponse);
    },
    resultText,
    attach: readers.attach,
    async find(caller, runId) {
      const run = await seen(caller, runId);
      if (!run) return undefined;
      const { threadId, agentId, status, lastSeq, finishedAt } = run;
      const ago = finishedAt === undefined ? {} : { finishedAgoMs: deps.clock.now() - finishedAt };
      return { runId, threadId, agentId, status, lastEventId: lastSeq, ...ago };
    },
    async detail(caller, runId) {
      if (!(await seen(caller, runId))) return undefined;
      const run = await deps.runs.get(caller.agentId, runId);
      return run && detailOf(run, run.result?.usage ?? usageOf((await deps.runs.outline(runId)).turns));
    },
    async cancel(caller, runId) {
      if (!(await seen(caller, runId))) return undefined;
      const status = await requestCancel(caller.agentId, runId);
      return status && { success: true, runId, status };
    },
    async eraseThread(caller, threadId) {
      const readable = await deps.threads.readable(caller.agentId, threadId, caller.roles);
      if (readable === "none") return false;
      if (readable === "some") throw new ServiceError("role_not_allowed", MESSAGES.role_not_allowed);
      const active = await deps.runs.active(threadId);
      await Promise.all(active.map((runId) => requestCancel(caller.agentId, runId)));
      await Promise.all(active.map((runId) => lastEvent({ runId }, AbortSignal.timeout(ERASE_WAIT_MS))));
      return await deps.threads.erase(caller.agentId, threadId);
    },
    async open() {
      watching = watch.run(closing.signal);
      await executor.open();
    },
    async drain(graceMs, followMs = 0) {
      await executor.drain(graceMs, followMs);
      readers[Symbol.dispose]();
      closing.abort();
      await watching;
    },
  };
}

const iso = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());

function detailOf(run: RunRecord, usage: Usage): RunDetail {
  const { runId, threadId, status, startedAt, finishedAt, requestId, result } = run;
  return {
    runId,
    threadId,
    status,
    startedAt: iso(startedAt),
    finishedAt: iso(finishedAt),
    usage,
    ...(requestId !== undefined && { requestId }),
    ...(result && { result }),
  };
}

import { MESSAGES, rolesOf, type QueryResponse, type RunDetail, type RunStatus, type Usage } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import type { PermitStore } from "../ports/permit-store.ts";
import type { RunRecord } from "../ports/records.ts";
import { ends, type RunFacts, succeeds } from "../ports/run-store.ts";
import { ServiceError } from "../ports/service-error.ts";
import { answerIn, usageOf, waitingFor } from "./answer.ts";
import type { Followed, Principal, ResultOptions, RunHandle, Runs, RoleFunctions } from "./api.ts";
import { cancelWhenAbandoned, type Readers } from "./follow/cancel-when-abandoned.ts";
import { createPermits } from "./calls/permits.ts";
import { createFeed } from "./follow/feed.ts";
import { createLogPoller, follow, type FollowContext, joining } from "./follow/follow.ts";
import { isPending } from "./calls/approval.ts";
import { createProgress } from "./state.ts";
import { effectiveRole, mayState, visibleFunctions } from "./role-check.ts";
import { type RunContext, withRetry } from "./run-context.ts";
import { Admission } from "./start/admission.ts";
import { Executor } from "./worker/executor.ts";

/** How long the erasure of a thread waits for its cancelled runs to end. */
const ERASE_WAIT_MS = 5_000;
/** Pause before a response asks again for the state of a run whose approvals are decided. */
const CONTINUES_MS = 50;
const OPEN: ReadonlySet<RunStatus> = new Set(["queued", "running", "waiting"]);
const hasEnded = (status: RunStatus): boolean => !OPEN.has(status);

/** Creates the run layer of one replica. */
export function createRuns(
  { owner, bus }: { owner: string; bus: Bus },
  options: Omit<RunContext, "feed" | "permits"> & { permits: PermitStore },
): Runs {
  const retry = <T>(work: () => Promise<T>, signal: AbortSignal) => withRetry(work, { ...options, signal });
  const permits = createPermits(options.permits, { bus, retry, ...options });
  const context: RunContext = { ...options, permits, feed: createFeed(bus) };
  const { runs, threads, log } = context;
  const executor = new Executor(owner, bus, context);
  const admission = new Admission(executor, context);
  const poller = createLogPoller(context);
  const closing = new AbortController();
  let polling: Promise<void> = Promise.resolve();
  const following: FollowContext = { runs, feed: context.feed, poller, orDraining: joining(executor.draining) };
  const reads = readsOf(context, following, executor.draining);

  async function requestCancel(agentId: string, runId: string): Promise<RunStatus | undefined> {
    const status = await runs.requestCancel(agentId, runId);
    // The mark in the store ends the run at its next renewal at the latest; the bus ends it immediately.
    if (status && !hasEnded(status)) executor.cancel(runId);
    return status;
  }

  const readers: Readers = cancelWhenAbandoned(bus, ({ agentId, runId }) => {
    requestCancel(agentId, runId).catch((cause: unknown) => log.warn("a run could not be cancelled", { cause }));
  });

  return {
    ...reads,
    start: (principal, query) => admission.start(principal, query),
    requireRole: (principal, role) => admission.requireRole(principal, role),
    functionsFor: (principal, role) => functionsFor(context, principal, role, executor.draining),
    onAgentChange: ({ agentId }, changed) => context.gateway.onChange(agentId, changed),
    leave: (run, name) => runs.leave(run, name),
    takeLeft: ({ agentId }, name) => runs.takeLeft(agentId, name),
    join: (principal, key, bodyHash) => admission.join(principal, key, bodyHash),
    follow: (run, options) => follow(run, options, following),
    attach: readers.attach,
    cancelsWhenGone: async ({ agentId, runId }) => (await runs.get(agentId, runId))?.request.cancelWhenGone === true,
    async cancel(principal, runId) {
      if (!(await reads.find(principal, runId))) return undefined;
      const status = await requestCancel(principal.agentId, runId);
      return status && { success: true, runId, status };
    },
    async recordFeedback(principal, runId, feedback) {
      if (!(await reads.find(principal, runId))) return false;
      const { orgId, keyId } = principal;
      await runs.recordFeedback({ runId, orgId, keyId }, feedback);
      return true;
    },
    async deleteFeedback(principal, runId) {
      if (!(await reads.find(principal, runId))) return false;
      const { orgId, keyId } = principal;
      await runs.deleteFeedback({ runId, orgId, keyId });
      return true;
    },
    async eraseThread({ agentId, roles }, threadId) {
      const readable = await threads.readable(agentId, threadId, roles);
      if (readable === "none") return false;
      if (readable === "some") throw new ServiceError("role_not_allowed", MESSAGES.role_not_allowed);
      // First the runs end, so that their followers get a last event instead of an endless wait.
      const active = await runs.active(threadId);
      await Promise.all(active.map((runId) => requestCancel(agentId, runId)));
      const signal = AbortSignal.timeout(ERASE_WAIT_MS);
      await Promise.all(
        active.map((runId) => lastEvent(follow({ runId }, { after: 0, deltas: false, signal }, following))),
      );
      return await threads.erase(agentId, threadId);
    },
    async open() {
      polling = poller.run(closing.signal);
      await executor.open();
    },
    async drain(graceMs, followMs = 0) {
      // First the runs, then what serves their followers: they must get the last events.
      await executor.drain(graceMs, followMs);
      readers[Symbol.dispose]();
      closing.abort();
      await polling;
    },
  };
}

/** See `Runs.functionsFor`. */
async function functionsFor(
  { gateway }: RunContext,
  principal: Principal,
  stated: string | undefined,
  signal: AbortSignal,
): Promise<RoleFunctions | undefined> {
  const session = await gateway.session(principal.agentId, { signal });
  if (!session) return undefined;
  const { manifest } = session;
  const role = effectiveRole(principal, stated, manifest);
  return { manifest, functions: visibleFunctions(manifest, role), ...(role !== undefined && { role }) };
}

/** The parts of `Runs` that only read. */
function readsOf(
  context: RunContext,
  following: FollowContext,
  draining: AbortSignal,
): Pick<Runs, "result" | "resultText" | "find" | "detail" | "unended" | "log" | "agentFacts"> {
  const { runs, clock, accounts, gateway } = context;

  /** A pinned key sees runs of its roles and runs without a role. */
  async function visible(principal: Principal, runId: string): Promise<RunFacts | undefined> {
    const run = await runs.facts(principal.agentId, runId);
    if (!run || !mayState(principal, run.role)) return undefined;
    return (await isOfCaller(principal, runId)) ? run : undefined;
  }

  /** A proven caller sees runs of its own subject only. */
  async function isOfCaller({ agentId, proven }: Principal, runId: string): Promise<boolean> {
    if (!proven) return true;
    return (await runs.get(agentId, runId))?.request.provenSubject === proven.subject;
  }

  async function resultText(run: RunHandle, { signal, waitMs = 0 }: ResultOptions): Promise<string | undefined> {
    const options = { after: 0, deltas: false };
    let last: string | undefined;
    if (waitMs > 0) {
      const patience = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
      last = await lastEvent(follow(run, { ...options, signal: patience }, following));
    }
    for (;;) {
      last ??= await lastEvent(follow(run, { ...options, signal, pauses: true }, following));
      // The last event of an answer contains all of it: the run need not be read.
      if (last !== undefined && succeeds(last)) return answerIn(last);
      const record = await withRetry(() => runs.get(run.agentId, run.runId), { ...context, signal });
      if (!record) throw new ServiceError("not_found", "The run was erased with its thread");
      if (last !== undefined) return record.result && JSON.stringify(record.result);
      const waits = record.status === "waiting" ? await whileWaiting(record) : undefined;
      if (waits || signal.aborted || draining.aborted) return waits;
      // Decided a moment ago: the run continues soon.
      await clock.sleep(CONTINUES_MS, { signal });
    }
  }

  /** The response of a run that waits for approvals; undefined once all are decided. */
  async function whileWaiting(run: RunRecord): Promise<string | undefined> {
    const { turns, calls } = await runs.checkpoint(run.runId);
    if (!calls.some(isPending)) return undefined;
    const state = createProgress(run, turns, calls);
    return JSON.stringify(waitingFor(state, Math.max(0, clock.now() - run.createdAt), context.limits));
  }

  async function find(principal: Principal, runId: string): ReturnType<Runs["find"]> {
    const run = await visible(principal, runId);
    if (!run) return undefined;
    const { threadId, agentId, status, lastSeq, finishedAt } = run;
    const ago = finishedAt === undefined ? {} : { finishedAgoMs: clock.now() - finishedAt };
    return { runId, threadId, agentId, status, lastEventId: lastSeq, ...ago };
  }

  return {
    resultText,
    async agentFacts({ agentId }) {
      const [agent, { set }] = await Promise.all([accounts.getAgent(agentId), gateway.serving(agentId)]);
      return { name: agent?.name ?? agentId, roles: set && rolesOf(set.manifest) };
    },
    find,
    async unended(principal, threadId) {
      const active = await runs.active(threadId);
      const found = await Promise.all(active.map((runId) => find(principal, runId)));
      return found.flatMap((run) => (run && run.finishedAgoMs === undefined ? [run] : []));
    },
    async *log({ runId }) {
      let after = 0;
      for (;;) {
        const page = await runs.events(runId, after, LOG_PAGE);
        for (const { seq, body } of page) yield { id: (after = seq), body };
        if (page.length < LOG_PAGE) return;
      }
    },
    async result(run, options): Promise<QueryResponse | undefined> {
      const text = await resultText(run, options);
      return text === undefined ? undefined : (JSON.parse(text) as QueryResponse);
    },
    async detail(principal, runId) {
      if (!(await visible(principal, runId))) return undefined;
      const run = await runs.get(principal.agentId, runId);
      return run && detailOf(run, run.result?.usage ?? usageOf((await runs.outline(runId)).turns));
    },
  };
}

/** Events that are read from the log at a time. Each may be large. */
const LOG_PAGE = 8;

/** The last event of a run; undefined when following it stopped earlier, or the run was erased. */
async function lastEvent(followed: AsyncIterable<readonly Followed[]>): Promise<string | undefined> {
  let last = "";
  for await (const events of followed) last = events.at(-1)?.body ?? last;
  return ends(last) ? last : undefined;
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

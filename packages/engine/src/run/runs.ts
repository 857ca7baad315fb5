import { timeoutSignal } from "@patchbay/kit/time";
import { rolesOf, type QueryResponse, type RunDetail, type RunStatus } from "@patchbay/protocol";
import { isoTimeOrNull, present } from "@patchbay/kit";
import type { Bus } from "../ports/bus.ts";
import type { PermitStore } from "../ports/store/permit-store.ts";
import type { RunFacts, RunRecord } from "../ports/records.ts";
import { ends, succeeds } from "../ports/store/run-store.ts";
import { ServiceError, standardError } from "../ports/service-error.ts";
import { answerIn, runningIn, usageOf, waitingFor } from "./answer.ts";
import type { Followed, Principal, ResultOptions, RunHandle, Runs, RoleFunctions } from "./api.ts";
import { createCallerTokens } from "./caller-tokens.ts";
import { cancelWhenAbandoned } from "./follow/cancel-when-abandoned.ts";
import { createPermits } from "./calls/permits.ts";
import { createFeed } from "./follow/feed.ts";
import { createLogPoller, follow, type FollowContext, joining } from "./follow/follow.ts";
import { isPending } from "./calls/approval.ts";
import { isRunning } from "./calls/detached.ts";
import { createProgress } from "./state.ts";
import { effectiveRole, ownRole, visibleFunctions } from "./role-check.ts";
import { isVisible, visibleTo } from "./visibility.ts";
import { type RunContext, withRetry } from "./run-context.ts";
import { Admission } from "./start/admission.ts";
import { checkCall } from "./start/check-call.ts";
import { isOpen, recallRun } from "./start/retry.ts";
import { Executor } from "./worker/executor.ts";

/** How long thread erasure waits for cancelled runs to end. */
const ERASE_WAIT_MS = 5_000;
/** Pause before a response reads the state of a run again that stops waiting. */
const CONTINUES_MS = 50;

type Rated = Parameters<RunContext["runs"]["deleteFeedback"]>[0];

/** Creates one replica's run layer. */
export function createRuns(
  { owner, bus }: { owner: string; bus: Bus },
  options: Omit<RunContext, "feed" | "permits" | "readers" | "callerTokens"> & { permits: PermitStore },
): Runs {
  const retry = <T>(work: () => Promise<T>, signal: AbortSignal) => withRetry(work, { ...options, signal });
  const permits = createPermits(options.permits, { bus, retry, ...options });
  const readers = cancelWhenAbandoned(bus, ({ agentId, runId }) => {
    const cancelled = withRetry(() => requestCancel(agentId, runId), context);
    cancelled.catch((cause: unknown) => log.warn("a run could not be cancelled", { cause }));
  });
  const callerTokens = createCallerTokens(options.clock);
  const context: RunContext = { ...options, permits, readers, callerTokens, feed: createFeed(bus) };
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
    if (status && isOpen(status)) executor.cancel(runId);
    return status;
  }

  async function changeFeedback(principal: Principal, runId: string, change: (of: Rated) => Promise<void>) {
    const found = await reads.find(principal, runId);
    if (found) await change({ runId, orgId: principal.orgId, keyId: principal.keyId });
    return found !== undefined;
  }

  return {
    ...reads,
    start: (principal, query) => admission.start(principal, query),
    requireRole: (principal, role) => admission.requireRole(principal, role),
    functionsFor: (principal, role) => functionsFor(context, principal, role, executor.draining),
    inclusions: async (agentId) => (await context.gateway.serving(agentId)).inclusions,
    check: (principal, call) => checkCall(principal, call, context, executor.draining),
    onAgentChange: ({ agentId }, changed) => context.gateway.onChange(agentId, changed),
    detach: (run, name) => runs.detach(run, name),
    reattach: (principal, name) => runs.reattach(principal.agentId, name, visibleTo(principal)),
    join: (principal, key, bodyHash) => admission.join(principal, key, bodyHash),
    follow: (run, options) => follow(run, options, following),
    attach: readers.attach,
    cancelsWhenGone: async ({ agentId, runId }) => (await runs.get(agentId, runId))?.request.cancelWhenGone === true,
    async cancel(principal, runId) {
      if (!(await reads.find(principal, runId))) return undefined;
      const status = await requestCancel(principal.agentId, runId);
      return status && { success: true, runId, status };
    },
    async retry(principal, runId, options) {
      const failed = (await reads.find(principal, runId)) && (await runs.get(principal.agentId, runId));
      return failed && (await admission.retry(principal, failed, options));
    },
    recordFeedback: (principal, runId, feedback) =>
      changeFeedback(principal, runId, (of) => runs.recordFeedback(of, feedback)),
    deleteFeedback: (principal, runId) => changeFeedback(principal, runId, (of) => runs.deleteFeedback(of)),
    async eraseThread(principal, threadId) {
      const readable = await threads.readable(principal.agentId, threadId, visibleTo(principal));
      if (readable === "none") return false;
      if (readable === "some") throw standardError("role_not_allowed");
      // First the runs end, so that their followers get a last event instead of an endless wait.
      const active = await runs.active(threadId);
      await Promise.all(active.map((runId) => requestCancel(principal.agentId, runId)));
      const signal = timeoutSignal(ERASE_WAIT_MS);
      await Promise.all(
        active.map((runId) => lastEvent(follow({ runId }, { after: 0, deltas: false, signal }, following))),
      );
      return await threads.erase(principal.agentId, threadId);
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
  claimed: string | undefined,
  signal: AbortSignal,
): Promise<RoleFunctions | undefined> {
  const session = await gateway.session(principal.agentId, { signal });
  if (!session) return undefined;
  const { manifest } = session;
  const role = effectiveRole(principal, claimed ?? ownRole(principal), manifest);
  return { manifest, functions: visibleFunctions(manifest, role), ...present({ role }) };
}

/** The parts of `Runs` that only read. */
function readsOf(
  context: RunContext,
  following: FollowContext,
  draining: AbortSignal,
): Pick<Runs, "result" | "resultText" | "find" | "list" | "detail" | "unended" | "log" | "agentFacts"> {
  const { runs, clock, accounts, gateway } = context;

  async function visible(principal: Principal, runId: string): Promise<RunFacts | undefined> {
    const run = await runs.facts(principal.agentId, runId);
    return run && isVisible(principal, run) ? run : undefined;
  }

  async function resultText(
    run: RunHandle,
    { signal, waitMs = 0, pauses = "any" }: ResultOptions,
  ): Promise<string | undefined> {
    const options = { after: 0, deltas: false };
    let last: string | undefined;
    if (waitMs > 0) {
      const patience = AbortSignal.any([signal, timeoutSignal(waitMs)]);
      last = await lastEvent(follow(run, { ...options, signal: patience }, following));
    }
    for (;;) {
      last ??= await lastEvent(follow(run, { ...options, signal, pauses }, following));
      // An answer's last event contains all of it: the run need not be read.
      if (last !== undefined && succeeds(last)) return answerIn(last);
      const record = await withRetry(() => runs.get(run.agentId, run.runId), { ...context, signal });
      if (!record) throw new ServiceError("not_found", "The run was erased with its thread");
      if (last !== undefined) return record.result && JSON.stringify(record.result);
      const waits = record.status === "waiting" ? await whileWaiting(record) : undefined;
      if (waits || signal.aborted || draining.aborted) return waits;
      // Decided or answered a moment ago: the run continues soon.
      await clock.sleep(CONTINUES_MS, { signal });
    }
  }

  /** The response for a run that waits; undefined once all approvals are decided and no detached call runs. */
  async function whileWaiting(run: RunRecord): Promise<string | undefined> {
    const { turns, calls } = await recallRun(run, runs);
    if (!calls.some((call) => isPending(call) || isRunning(call))) return undefined;
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
    list: (principal, asked) => runs.page(principal.agentId, { ...asked, ...visibleTo(principal) }),
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
      return run && (await detailOf(run, runs));
    },
  };
}

/** Events that are read from the log at a time. Each may be large. */
const LOG_PAGE = 8;

/** A run's last event; undefined when following it stopped earlier, or the run was erased. */
async function lastEvent(followed: AsyncIterable<readonly Followed[]>): Promise<string | undefined> {
  let last = "";
  for await (const events of followed) last = events.at(-1)?.body ?? last;
  return ends(last) ? last : undefined;
}

async function detailOf(run: RunRecord, runs: RunContext["runs"]): Promise<RunDetail> {
  const { runId, threadId, status, startedAt, finishedAt, requestId, result, request } = run;
  const waiting = status === "waiting" ? await waitingMembers(runId, runs) : {};
  const retriedBy = isOpen(status) ? undefined : await runs.retriedBy(runId);
  return {
    runId,
    threadId,
    status,
    startedAt: isoTimeOrNull(startedAt),
    finishedAt: isoTimeOrNull(finishedAt),
    ...waiting,
    usage: result?.usage ?? usageOf((await runs.outline(runId)).turns),
    ...present({ requestId, result, retryOf: request.retryOf?.runId, retriedBy }),
  };
}

async function waitingMembers(
  runId: string,
  runs: RunContext["runs"],
): Promise<Pick<RunDetail, "waitingFor" | "calls">> {
  const { calls } = await runs.checkpoint(runId);
  return { waitingFor: calls.some(isPending) ? "approval" : "function", ...runningIn(calls) };
}

import { type Fault, MESSAGES } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { RunRecord } from "../../ports/records.ts";
import { type NewRun, NO_HISTORY } from "../../ports/store/run-store.ts";
import { invalid, ServiceError, standardError } from "../../ports/service-error.ts";
import type { Segment } from "../../ports/tracing.ts";
import { failed } from "../answer.ts";
import type { Principal, Query, RetryOptions, RunHandle } from "../api.ts";
import { detailOf, refusedQuery, reportOf, runEntry } from "../calls/journal.ts";
import { isUnknownRole, mayState } from "../role-check.ts";
import { noSession } from "../no-session.ts";
import { isOfCaller, isVisible, visibleTo } from "../visibility.ts";
import { observeRun } from "../observer.ts";
import { modelsFor, type RunContext } from "../run-context.ts";
import { insufficientCredits, notConfigured, RunFailure, threadBusy } from "../run-failure.ts";
import type { Executor } from "../worker/executor.ts";
import { LEASE_MS } from "../worker/leases.ts";
import { askHooks, connectServices } from "./connect.ts";
import { type Checked, complete, type Connected, handleOf, newRun, type Timed, timed, unstarted } from "./new-run.ts";
import { overtaken, planRetry } from "./retry.ts";
import { asClaimed, callerIn } from "./claimed.ts";
import { fallbackModels, refusedOverrides, settle, type Settled, testCallModel, withoutPrice } from "./settings.ts";

/** Maximum number of unknown roles that are noted: a client may send any number. */
const MAX_WARNED_ROLES = 10_000;

/** Turns queries into runs: rejects invalid ones, stores the rest, and has the executor begin. */
export class Admission {
  readonly #executor: Executor;
  readonly #context: RunContext;
  readonly #warnedRoles = new Set<string>();

  constructor(executor: Executor, context: RunContext) {
    this.#executor = executor;
    this.#context = context;
  }

  /** See `Runs.start`. */
  async start(principal: Principal, query: Query): Promise<RunHandle> {
    return await this.#traced(principal, query, (segment) => this.#start(principal, query, segment));
  }

  /** See `Runs.retry`. */
  async retry(principal: Principal, failed: RunRecord, options: RetryOptions): Promise<RunHandle> {
    const { runs, runTimeoutMs: timeoutMs } = this.#context;
    const planned = await planRetry(principal, failed, { ...options, owner: this.#executor.owner, timeoutMs }, runs);
    return await this.#traced(principal, options, async (segment) => {
      const run = { ...planned, ...present({ trace: segment?.trace }) };
      segment?.accepted(run);
      const started = await this.#executor.start(run, present({ segment, token: principal.proven?.token }));
      if (started.kind === "thread_gone") throw new ServiceError("not_found", "Run not found");
      if (started.kind === "joined") {
        segment?.end("joined");
        return await this.#joined(principal, started);
      }
      if (started.kind !== "started") throw overtaken(failed);
      if (started.run.status === "queued") segment?.end("queued");
      observeRun(started.run, this.#context).started();
      return handleOf(run);
    });
  }

  /** `begin` gets the run's first segment, which ends here if it begins no run. */
  async #traced(
    { agentId }: Principal,
    { trace }: Pick<Query, "trace">,
    begin: (segment?: Segment) => Promise<RunHandle>,
  ): Promise<RunHandle> {
    const segment = this.#context.tracing?.begin(agentId, trace);
    if (!segment) return await begin();
    try {
      const run = await segment.run(() => begin(segment));
      return segment.traceId === undefined ? run : { ...run, traceId: segment.traceId };
    } catch (error) {
      segment.end("rejected", error);
      throw error;
    }
  }

  /** `segment` ends with the work on the run, or here if this process does not begin to work on it. */
  async #start(principal: Principal, asked: Query, segment?: Segment): Promise<RunHandle> {
    const query = timed(await this.#asClaimed(principal, asked), this.#context.runTimeoutMs);
    const { threads } = this.#context;
    const { agentId } = principal;
    const { threadId, externalThread: key } = query;
    const visible = visibleTo(principal);
    if (threadId !== undefined && !(await threads.exists(agentId, threadId, visible))) throw noThread();
    for (;;) {
      const known = key && (await threads.ofKey(agentId, key, visible));
      const found = { ...query, ...present({ threadId: known }) };
      const run = await this.#begin(principal, found, segment);
      if (run) return run;
      // Without a key the thread was erased meanwhile. With one, another first query may also have made the thread.
      if (!key) throw noThread();
    }
  }

  /** Returns undefined and stores nothing if the thread changed. */
  async #begin(principal: Principal, query: Timed, segment?: Segment): Promise<RunHandle | undefined> {
    const { agentId, orgId, proven } = principal;
    const models = modelsFor(this.#context, orgId);
    const agent = await this.#context.accounts.agentWithBalance(agentId);
    const { settings = {}, instructions = "", balanceMicros = 0, hasWebhook = false } = agent ?? {};
    if (agent) segment?.named(agent.name);
    const refusal = refusedOverrides(query, settings, models);
    if (refusal) throw refusal;
    // A connected runtime checks the context before anything else, so that an invalid context is rejected rather than stored as a
    // failed run. Without a runtime the query becomes a run, which then waits for one in `#check`.
    const early = (await this.#context.gateway.connected(agentId))
      ? { connected: await this.#connect(principal, query, segment) }
      : undefined;
    await this.requireRole(principal, query.role);

    const settled = settle(query, settings, models);
    const reported = hasWebhook && query.respondAsync === true;
    const lease = { timeoutMs: query.leftMs(), owner: this.#executor.owner, leaseMs: LEASE_MS };
    const basics = newRun(principal, { ...query, reported }, settled, lease);
    const fresh = segment ? { ...basics, trace: segment.trace } : basics;
    let checked: Checked;
    try {
      checked = await this.#check(principal, query, { settled, balanceMicros, ...present({ segment }) }, early);
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error;
      return await this.#refuse(fresh, error, segment);
    }
    this.#warnOfUnknownRole(agentId, checked);
    fresh.timeoutMs = query.leftMs();
    // From here on the run keeps its own settings, functions and instructions: later changes do not affect it.
    const auditKey = await this.#context.accounts.auditKey(principal.orgId);
    const charged = this.#pays(principal, query);
    const { run, next } = complete(fresh, checked, { ...query, instructions, charged, auditKey });
    const history = run.newThread && !query.repeats ? NO_HISTORY : undefined;
    const { manifest } = checked.prepared.set;
    const atHand = { manifest, ...present({ history, next, segment, token: proven?.token }) };
    segment?.accepted(run);
    let started = await this.#executor.start(run, atHand);
    if (started.kind === "busy" && started.waits && query.supersede && (await this.#cancelWaiting(principal, run)))
      started = await this.#executor.start(run, atHand);
    if (started.kind === "thread_gone" || started.kind === "outdated") return undefined;
    if (started.kind === "busy") return await this.#refuse(run, threadBusy(started), segment);
    if (started.kind === "joined") {
      const joined = await this.#joined(principal, started);
      segment?.end("joined");
      return joined;
    }
    if (started.run.status === "queued") segment?.end("queued");
    observeRun(unstarted(run, 0), this.#context).started();
    return handleOf(run);
  }

  /** Cancels a thread's waiting run. False for a run that the principal may not see. */
  async #cancelWaiting(principal: Principal, { agentId, threadId }: NewRun): Promise<boolean> {
    const { runs } = this.#context;
    for (const runId of await runs.active(threadId)) {
      const run = await runs.facts(agentId, runId);
      if (run?.status !== "waiting") continue;
      if (!isVisible(principal, run)) return false;
      await runs.requestCancel(agentId, runId);
      this.#executor.cancel(runId);
    }
    return true;
  }

  /** See `Runs.join`. */
  async join(principal: Principal, key: string, bodyHash: string): Promise<RunHandle | undefined> {
    const known = await this.#context.runs.findByIdempotencyKey(principal, key);
    if (!known) return undefined;
    return await this.#joined(principal, { runId: known.runId, sameBody: known.bodyHash === bodyHash });
  }

  /** The checks that end the run instead of rejecting the request, in the HTTP contract's order. */
  async #check(
    principal: Principal,
    query: Timed,
    { settled, balanceMicros, segment }: { settled: Settled; balanceMicros: number; segment?: Segment },
    early: { connected: Connected | undefined } | undefined,
  ): Promise<Checked> {
    const models = modelsFor(this.#context, principal.orgId);
    const chosen = query.testCall ? testCallModel(query.testCall) : models.choose(settled.wanted);
    if ("missing" in chosen) throw notConfigured(chosen);
    const needs = { pays: this.#pays(principal, query), capMicros: settled.request.maxCostMicros };
    const refusal = withoutPrice(chosen, needs);
    if (refusal && query.llm?.model === undefined) throw refusal;
    if (refusal) throw invalid([{ path: "llmConfig.model", message: refusal.message }]);
    const needsPrice = needs.pays || needs.capMicros !== undefined;
    const fallback = fallbackModels(settled, chosen, { models, needsPrice });
    // `early` may already have waited for a service that did not come: do not wait again.
    const { connected } = early ?? { connected: await this.#connect(principal, query, segment) };
    if (!connected) throw await noSession(principal.agentId, this.#context);
    // Credit may have been granted while the query waited for a runtime.
    const needsCredit = needs.pays || (query.needsCredit === true && this.#context.charged(principal.tier));
    if (needsCredit && balanceMicros <= 0 && (await this.#context.accounts.balance(principal.orgId)) <= 0)
      throw insufficientCredits();
    if (!query.testCall) await askHooks(principal.agentId, query, connected, this.#asking(segment, query));
    return { ...connected, chosen, fallback };
  }

  #pays({ tier }: Principal, { testCall }: Query): boolean {
    return !testCall && this.#context.charged(tier);
  }

  /** The run's functions and what their services made from its context; undefined when no runtime is connected. */
  async #connect(principal: Principal, query: Timed, segment?: Segment): Promise<Connected | undefined> {
    const connected = await connectServices(
      principal.agentId,
      callerIn(principal, query),
      this.#asking(segment, query),
    );
    if (connected && "faults" in connected)
      throw await this.#unfitContext(principal, connected.caller.role, connected.faults);
    return connected;
  }

  #asking(segment: Segment | undefined, { leftMs }: Timed) {
    return { gateway: this.#context.gateway, signal: this.#executor.draining, segment, remainingMs: leftMs };
  }

  async #unfitContext(principal: Principal, role: string | undefined, details: Fault[]): Promise<ServiceError> {
    await this.#audit(refusedQuery(principal, role, "context"));
    return new ServiceError("invalid_request", "The context does not fit the functions service", { details });
  }

  async #asClaimed(principal: Principal, query: Query): Promise<Query> {
    try {
      return { ...query, ...asClaimed(principal, query) };
    } catch (error) {
      await this.#audit(refusedQuery(principal, query.role, "caller"));
      throw error;
    }
  }

  /** See `Runs.requireRole`. */
  async requireRole(principal: Principal, role: string | undefined): Promise<void> {
    if (mayState(principal, role)) return;
    await this.#audit(refusedQuery(principal, role, "role_not_allowed"));
    throw standardError("role_not_allowed");
  }

  /** The query is rejected even when the audit entry cannot be stored. */
  async #audit(entry: ReturnType<typeof refusedQuery>): Promise<void> {
    await this.#context.audit.record([entry]).catch((cause: unknown) => {
      this.#context.log.warn("a refused query could not be audited", { agentId: entry.agentId, cause });
    });
  }

  /** Stores a run that failed before it began. */
  async #refuse(asked: NewRun, failure: RunFailure, segment?: Segment): Promise<RunHandle> {
    // A hook may refuse a query because its text must not be stored, for example a card number.
    const { quoted: _, ...request } = asked.request;
    const withheld = { ...request, query: WITHHELD, context: {} };
    const run = failure.code === "refused" ? { ...asked, request: withheld } : asked;
    const { runs, clock } = this.#context;
    const record = { ...unstarted(run, clock.now()), status: "failed" as const, lastSeq: 1 };
    const { result, event } = failed(record, failure, 0);
    const { manifestHash } = run;
    const about = { rule: failure.code, ...detailOf(failure), ...present({ manifestHash }) };
    await runs.refuse(
      { ...run, audit: [runEntry(run, "run.refused", about)] },
      {
        code: failure.code,
        event: { seq: 1, body: JSON.stringify(event) },
        result,
        ...reportOf(run, failure.code === "cancelled" ? "cancelled" : "failed", result),
      },
    );
    const log = this.#context.log.child({ runId: run.runId, agentId: run.agentId });
    observeRun(record, { ...this.#context, log }).ended(result);
    segment?.accepted(run);
    segment?.result(result);
    segment?.end("ended");
    return handleOf(run);
  }

  async #joined(principal: Principal, { runId, sameBody }: { runId: string; sameBody: boolean }): Promise<RunHandle> {
    const run = await this.#context.runs.facts(principal.agentId, runId);
    // Another query's answer must not be returned for this one, nor another caller's.
    if (!sameBody || (run && !isOfCaller(principal, run)))
      throw new ServiceError("idempotency_mismatch", "This Idempotency-Key was used with another body");
    if (!run) throw new ServiceError("not_found", "Run not found");
    // A pinned key in the same lineage must not read a run under another role by repeating its Idempotency-Key.
    await this.requireRole(principal, run.role);
    return run;
  }

  /** A misspelt role sees only functions open to everyone: this shows the operator why. Once per role. */
  #warnOfUnknownRole(agentId: string, { session, caller: { role } }: Checked): void {
    if (role === undefined || !isUnknownRole(session.manifest, role)) return;
    const seen = `${agentId} ${role}`;
    if (this.#warnedRoles.has(seen) || this.#warnedRoles.size > MAX_WARNED_ROLES) return;
    this.#warnedRoles.add(seen);
    this.#context.log.warn("unknown role: only functions open to everyone are shown", { agentId, role });
  }
}

const WITHHELD = "(This query was refused, and its text and context are not kept.)";

const noThread = (): ServiceError =>
  new ServiceError("invalid_request", MESSAGES.thread_not_found, {
    details: [{ path: "threadId", message: "is not a thread of this agent" }],
  });

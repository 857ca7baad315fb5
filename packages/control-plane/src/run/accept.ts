import { type Fault, MESSAGES } from "@patchbay/protocol";
import { type FunctionSession, hooksOf } from "../ports/function-gateway.ts";
import type { ChosenModel } from "../ports/model-provider.ts";
import type { RunRecord } from "../ports/records.ts";
import { type NewRun, NO_HISTORY } from "../ports/run-store.ts";
import { invalid, ServiceError } from "../ports/service-error.ts";
import type { AccountStore, AuditStore, ThreadStore } from "../ports/stores.ts";
import { effectiveRole, isUnknownRole, mayAct, visibleFunctions } from "./access.ts";
import { failed } from "./answer.ts";
import type { Caller, Query, RunHandle } from "./api.ts";
import { detailOf, refusedQuery, runEntry } from "./audit.ts";
import { LEASE_MS, type Executor } from "./executor.ts";
import { nextHold } from "./hold.ts";
import { checkQuery, undecided } from "./hooks.ts";
import { newId } from "./ids.ts";
import { type Prepared, prepareServices } from "./prepare.ts";
import { systemText } from "./prompt.ts";
import { insufficientCredits, RunFailure, sessionNotFound } from "./run-failure.ts";
import { tell, type RunDeps } from "./run-to-end.ts";
import { fallbackModels, refusedOverrides, settle, type Settled, withoutPrice } from "./settings.ts";
import { createProgress, createState } from "./state.ts";
import { respondName } from "./structured.ts";
import { TRIAL, trialModel } from "./trial.ts";

export interface AcceptDeps extends RunDeps {
  threads: ThreadStore;
  accounts: AccountStore;
  audit: Pick<AuditStore, "record">;
  /** Whether organisations of a tier pay for their turns. */
  charged(tier: string): boolean;
  runTimeoutMs: number;
}

interface Connected {
  session: FunctionSession;
  prepared: Prepared;
  role: string | undefined;
}

interface Checked extends Connected {
  chosen: ChosenModel;
  fallback: ReturnType<typeof fallbackModels>;
}

/** Turns queries into runs: refuses what is the caller's fault, stores the rest, and lets the executor begin. */
export function createAcceptance(executor: Executor, deps: AcceptDeps) {
  const warnedRoles = new Set<string>();

  async function accept(caller: Caller, query: Query): Promise<RunHandle> {
    if (query.threadId !== undefined && !(await deps.threads.exists(caller.agentId, query.threadId))) throw noThread();
    const agent = await deps.accounts.getAgent(caller.agentId);
    const { settings = {}, instructions = "" } = agent ?? {};
    const refusal = refusedOverrides(query, settings, deps.models);
    if (refusal) throw refusal;
    const isThere = await deps.gateway.connected(caller.agentId);
    const early = isThere ? { connected: await connect(caller, query) } : undefined;
    await requireRole(caller, query.role);

    const settled = settle(query, settings, deps.models);
    let run = newRun(caller, query, settled);
    let checked: Checked;
    try {
      checked = await check(caller, query, settled, early);
    } catch (error) {
      if (!(error instanceof RunFailure)) throw error;
      return await refuse(run, error);
    }
    warnOfUnknownRole(caller, checked);
    run = completed(run, checked, instructions, pays(caller, query));

    const { manifest } = checked.prepared.set;
    const started = await executor.start(run, { manifest, ...(run.newThread && { history: NO_HISTORY }) });
    if (started.kind === "thread_gone") throw noThread();
    if (started.kind === "busy") return await refuse(run, threadBusy());
    if (started.kind === "joined") return await joined(caller, started);
    deps.observe({ at: deps.clock.now(), kind: "query", runId: run.runId, agentId: run.agentId, ...roleOf(run) });
    return run;
  }

  /** The checks whose failure ends the run instead of refusing the request, in the contract's order. */
  async function check(
    caller: Caller,
    query: Query,
    settled: Settled,
    early: { connected: Connected | undefined } | undefined,
  ): Promise<Checked> {
    const chosen = query.trial ? trialModel(query.trial) : deps.models.choose(settled.wanted);
    if ("missing" in chosen) throw notConfigured(chosen.missing);
    const needs = { pays: pays(caller, query), capMicros: settled.request.maxCostMicros };
    const refusal = withoutPrice(chosen, needs);
    if (refusal && query.llm?.model === undefined) throw refusal;
    if (refusal) throw invalid([{ path: "llmConfig.model", message: refusal.message }]);
    const needsPrice = needs.pays || needs.capMicros !== undefined;
    const fallback = fallbackModels(settled, chosen, { models: deps.models, needsPrice });
    // A service that was asked in vain is not waited for twice.
    const { connected } = early ?? { connected: await connect(caller, query) };
    if (!connected) throw sessionNotFound();
    if (pays(caller, query) && (await deps.accounts.balance(caller.orgId)) <= 0) throw insufficientCredits();
    if (!query.trial) await passHooks(caller, query, connected);
    return { ...connected, chosen, fallback };
  }

  /** Last of the checks: the owner's code is not asked about a query that could not run. */
  async function passHooks(caller: Caller, query: Query, { prepared, role }: Connected): Promise<void> {
    const [silent] = prepared.silentHooks;
    if (silent !== undefined) throw undecided({ service: silent }, "beforeQuery", "its runtime is not connected");
    const asked = { query: query.query, context: query.context ?? {}, ...(role !== undefined && { role }) };
    await checkQuery(caller.agentId, hooksOf(prepared.set), asked, deps, executor.draining);
  }

  const pays = ({ tier }: Caller, { trial }: Query): boolean => !trial && deps.charged(tier);

  /** The functions a run would have, and what their owner's code made of the context. Undefined when no runtime is there. */
  async function connect(caller: Caller, query: Query): Promise<Connected | undefined> {
    const signal = executor.draining;
    // A runtime that leaves in a rollout between the two questions may have left another function set behind.
    for (let attempt = 0; attempt < 2; attempt++) {
      const session = await deps.gateway.session(caller.agentId, { signal });
      if (!session) return undefined;
      const role = effectiveRole(caller, query.role, session.manifest);
      const asked = { role, context: query.context ?? {} };
      const prepared = await prepareServices(caller.agentId, session, asked, deps.gateway, signal);
      if (prepared && "faults" in prepared) throw await unfitContext(caller, role, prepared.faults);
      if (prepared) return { session, prepared, role };
    }
    return undefined;
  }

  async function unfitContext(caller: Caller, role: string | undefined, details: Fault[]): Promise<ServiceError> {
    await keep(refusedQuery(caller, role, "context"));
    return new ServiceError("invalid_request", "The context does not fit the functions service", { details });
  }

  async function requireRole(caller: Caller, role: string | undefined): Promise<void> {
    if (mayAct(caller, role)) return;
    await keep(refusedQuery(caller, role, "role_not_allowed"));
    throw new ServiceError("role_not_allowed", MESSAGES.role_not_allowed);
  }

  /** The refusal stands whether or not it can be written down. */
  async function keep(entry: ReturnType<typeof refusedQuery>): Promise<void> {
    await deps.audit.record([entry]).catch((error: unknown) => {
      deps.log.warn("a refused query could not be audited", { agentId: entry.agentId, cause: error });
    });
  }

  async function refuse(asked: NewRun, failure: RunFailure): Promise<RunHandle> {
    // What a hook refuses may be what must not be kept, such as the number of a card: it sees the query and its context.
    const withheld = { ...asked.request, query: WITHHELD, context: {} };
    const run = failure.code === "refused" ? { ...asked, request: withheld } : asked;
    const record = { ...unbegun(run, deps.clock.now()), status: "failed" as const, lastSeq: 1 };
    const ending = failed(record, failure, 0);
    const refused = {
      ...run,
      audit: [runEntry(run, "run.refused", { rule: failure.code, ...detailOf(failure), ...hashOf(run) })],
    };
    await deps.runs.refuse(refused, {
      code: failure.code,
      event: { seq: 1, body: JSON.stringify(ending.event) },
      result: ending.result,
    });
    tell(record, ending, deps);
    return run;
  }

  async function joined(caller: Caller, { runId, sameBody }: { runId: string; sameBody: boolean }): Promise<RunHandle> {
    if (!sameBody) throw new ServiceError("idempotency_mismatch", "This Idempotency-Key was used with another body");
    const run = await deps.runs.facts(caller.agentId, runId);
    if (!run) throw new ServiceError("not_found", "Run not found");
    await requireRole(caller, run.role);
    return run;
  }

  async function join(caller: Caller, key: string, bodyHash: string): Promise<RunHandle | undefined> {
    const known = await deps.runs.findByIdempotencyKey(caller, key);
    return known && (await joined(caller, { runId: known.runId, sameBody: known.bodyHash === bodyHash }));
  }

  function newRun(caller: Caller, query: Query, { wanted, request }: Settled): NewRun {
    const { query: text, role, context = {}, analysisMode, threadId, sessionId, idempotency, trial, requestId } = query;
    return {
      runId: newId("run"),
      orgId: caller.orgId,
      agentId: caller.agentId,
      keyId: caller.keyId,
      threadId: threadId ?? newId("thr"),
      newThread: threadId === undefined,
      timeoutMs: deps.runTimeoutMs,
      owner: executor.owner,
      leaseMs: LEASE_MS,
      audit: [],
      request: {
        ...request,
        query: text,
        context,
        analysisMode,
        provider: trial ? TRIAL : (wanted.provider ?? ""),
        model: trial ? TRIAL : (wanted.model ?? ""),
        system: "",
        charged: false,
        warnings: [],
        ...(role !== undefined && { role }),
        ...(trial && { trial }),
      },
      ...(requestId !== undefined && { requestId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(idempotency && { idempotency }),
    };
  }

  function warnOfUnknownRole(caller: Caller, { session, role }: Checked): void {
    if (role === undefined || !isUnknownRole(session.manifest, role)) return;
    const seen = `${caller.agentId} ${role}`;
    if (warnedRoles.has(seen) || warnedRoles.size > 10_000) return;
    warnedRoles.add(seen);
    deps.log.warn("unknown role: only functions open to everyone are shown", { agentId: caller.agentId, role });
  }

  return { accept, join };
}

/** The run with everything that its checks settled, frozen from here on. */
function completed(run: NewRun, checked: Checked, instructions: string, charged: boolean): NewRun {
  const { chosen, fallback, prepared, role } = checked;
  const { role: _, ...request } = run.request;
  const { manifest, manifestHash } = prepared.set;
  const who = role === undefined ? {} : { role };
  const made: NewRun = {
    ...run,
    manifestHash,
    ...(prepared.subject !== undefined && { subject: prepared.subject }),
    request: {
      ...request,
      ...who,
      told: prepared.told,
      provider: chosen.provider.name,
      model: chosen.model,
      ...(fallback.models.length > 0 && { fallback: fallback.models }),
      system: systemText(
        instructions,
        manifest.instructions,
        request.responseSchema && respondName(visibleFunctions(manifest, role)),
      ),
      charged,
      warnings: [...request.warnings, ...fallback.warnings, ...prepared.warnings],
    },
  };
  return {
    ...made,
    ...(made.newThread && { holdMicros: firstHold(made, checked) }),
    audit: [runEntry(made, "run.started", { manifestHash })],
  };
}

/** What the first turn of a run without a history can cost. */
function firstHold(run: NewRun, { chosen, prepared }: Checked): number {
  const state = createState(createProgress(unbegun(run, 0)), {
    model: chosen,
    manifest: prepared.set.manifest,
    history: NO_HISTORY,
  });
  return nextHold(state)?.micros ?? 0;
}

function unbegun(run: NewRun, now: number): RunRecord {
  const times = { createdAt: now, deadlineAt: now };
  return {
    ...run,
    ...times,
    ...roleOf(run),
    status: "queued",
    fence: 0,
    cancelRequested: false,
    crashes: 0,
    claims: 0,
    lastSeq: 0,
  };
}

const WITHHELD = "(This query was refused, and its text and context are not kept.)";

const hashOf = ({ manifestHash }: NewRun) => (manifestHash !== undefined ? { manifestHash } : {});

const roleOf = ({ request: { role } }: NewRun) => (role !== undefined ? { role } : {});

const noThread = (): ServiceError =>
  new ServiceError("invalid_request", MESSAGES.thread_not_found, {
    details: [{ path: "threadId", message: "is not a thread of this agent" }],
  });

const threadBusy = (): RunFailure =>
  new RunFailure("thread_busy", "Too many queries are waiting on this thread already; try again when one has ended");

const notConfigured = (name: string): RunFailure =>
  new RunFailure(
    "provider_not_configured",
    name === "none" ? "No model provider is configured" : `Provider ${name} is not configured`,
  );

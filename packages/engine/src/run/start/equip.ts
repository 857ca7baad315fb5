import { callerOf } from "../../ports/callers.ts";
import { type RunRecord } from "../../ports/records.ts";
import { present } from "@patchbay/kit";
import { digestOf, pseudonymsOf } from "../calls/audit-digests.ts";
import { runEntry } from "../calls/journal.ts";
import { systemText } from "../loop/request.ts";
import { withRetry } from "../run-context.ts";
import { cancelled, insufficientCredits, notConfigured, RunFailure } from "../run-failure.ts";
import { type ActiveRun, functionsOf } from "../state.ts";
import { noSession } from "../no-session.ts";
import { askHooks, connectServices } from "./connect.ts";
import { subjectOf } from "./new-run.ts";
import { withoutPrice } from "./settings.ts";

/**
 * Gives a retry the newest functions and instructions, with a query's checks. Done by the process that works on the
 * run, because the one that stored it may have no runtimes. Throws `RunFailure`.
 */
export async function equip(run: RunRecord, active: ActiveRun): Promise<void> {
  const { agentId, request } = run;
  const { accounts, models, runs, signal } = active;
  const [agent, org] = await withRetry(
    () => Promise.all([accounts.agentWithBalance(agentId), accounts.getOrg(run.orgId)]),
    active,
  );
  if (!agent || !org) throw cancelled();
  const chosen = models.choose({ provider: request.provider, model: request.model, orgId: run.orgId });
  if ("missing" in chosen) throw notConfigured(chosen);
  const charged = active.charged(org.tier);
  const unpriced = withoutPrice(chosen, { pays: charged, capMicros: request.maxCostMicros });
  if (unpriced) throw unpriced;
  const connected = await connectServices(agentId, () => callerOf(request), active);
  signal.throwIfAborted();
  if (!connected) throw await noSession(agentId, active);
  if ("faults" in connected) {
    const [fault] = connected.faults;
    throw otherwise(`The context does not fit the functions service any more (${fault?.path}: ${fault?.message})`);
  }
  const { prepared } = connected;
  if (subjectOf(prepared.subject, request.provenSubject) !== run.subject)
    throw otherwise("The functions service makes another subject of the context now");
  if (charged && agent.balanceMicros <= 0) throw insufficientCredits();
  await askHooks(agentId, request, connected, active);

  const { manifest, manifestHash } = prepared.set;
  const { respond } = functionsOf(run, manifest);
  const equipped = {
    ...request,
    modelContext: prepared.modelContext,
    system: systemText([request.instructions ?? agent.instructions, manifest.instructions], {
      isTask: false,
      respond: respond?.name,
    }),
    charged,
    warnings: [...request.warnings, ...prepared.warnings],
  };
  const { retryOf, provenSubject, auditSalt, provider, model, context } = request;
  const detail = {
    retryOf: retryOf!.runId,
    ...present({ caller: provenSubject }),
    ...pseudonymsOf(await withRetry(() => accounts.auditKey(run.orgId), active), run),
    model: `${provider}/${model}`,
    // An earlier version that stored the retry gave it no salt.
    ...(auditSalt !== undefined && { digests: { context: digestOf(auditSalt, context) } }),
  };
  const audit = [runEntry(run, "run.started", { manifestHash, detail })];
  await withRetry(() => runs.equip(run, { manifestHash, request: equipped, audit }), active);
  Object.assign(run, { manifestHash, request: equipped });
}

const otherwise = (why: string): RunFailure =>
  new RunFailure("refused", `${why}, so that the run cannot be continued. Send the query again.`);

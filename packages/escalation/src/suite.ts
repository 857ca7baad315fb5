import type { ModelProvider } from "@patchbay/control-plane";
import { type JsonObject, present } from "@patchbay/kit";
import { isService, type Service } from "@patchbay/runtime/service";
import { approvalAttacks } from "./attacks/approvals.ts";
import type { Attack } from "./attacks/attack.ts";
import { frameAttacks } from "./attacks/frames.ts";
import { functionCallAttacks } from "./attacks/function-calls.ts";
import { withheldTexts } from "./attacks/hooks.ts";
import { injectionAttacks } from "./attacks/injection.ts";
import { keyAttacks } from "./attacks/keys.ts";
import { mcpAttacks } from "./attacks/mcp-adapter.ts";
import { openAiAttacks } from "./attacks/openai-adapter.ts";
import { uiStreamAttacks } from "./attacks/ui-stream-adapter.ts";
import type { StartPlanes } from "@patchbay/test-kit/local-server";
import { openFixture, type Fixture } from "./fixture.ts";
import { judgeOperatorPlaces } from "./judge.ts";
import type { EscalationReport, Finding } from "./report.ts";
import { ownerRules, rolesOf, targetsOf, type Targets, type TriedRole } from "./targets.ts";

/**
 * The attacks through the endpoints for other clients.
 * @internal
 */
export const ADAPTER_ATTACKS: readonly Attack[] = [...openAiAttacks, ...uiStreamAttacks, ...mcpAttacks];

/** Every attack, in report order. */
const ATTACKS: readonly Attack[] = [
  ...functionCallAttacks,
  ...injectionAttacks,
  withheldTexts,
  ...keyAttacks,
  ...frameAttacks,
  ...approvalAttacks,
  ...ADAPTER_ATTACKS,
];

/** How the service is deployed, so that the suite attacks it in the same way. */
export interface EscalationOptions {
  /** A context that queries may have, if the service rejects an empty one. */
  context?: JsonObject;
  /** Wraps the service as the owner's program does before it connects it: a cache, a log, retries. */
  serve?: (service: Service) => Service;
  /** Wraps the models, like the control plane option with this name. */
  wrapModel?: (model: ModelProvider) => ModelProvider;
}

/** Attacks that run at the same time. */
const CONCURRENCY = 16;

/**
 * Tries to exceed the rights of each role and of a query without a role: with a model that obeys every instruction and
 * calls every conceivable name, and with frames sent to the runtime. Handlers are replaced, so nothing real happens,
 * but `authorize` runs unchanged. Code judges the outcome: which handlers ran, and which canaries leaked. Needs the
 * control plane installed, and neither a network nor a model.
 *
 * ```ts
 * const { findings } = await runEscalationSuite(service);
 * ```
 */
export async function runEscalationSuite(service: Service, options: EscalationOptions = {}): Promise<EscalationReport> {
  return await attackService(service, options);
}

/**
 * Options with which {@link attackService} runs part of the suite elsewhere.
 * @internal
 */
interface AttackOptions extends EscalationOptions {
  /** Default: all. */
  attacks?: readonly Attack[];
  startPlanes?: StartPlanes;
}

/**
 * Runs attacks on a service, on any replicas. Not for users: {@link runEscalationSuite} is.
 * @internal
 */
export async function attackService(service: Service, options: AttackOptions): Promise<EscalationReport> {
  if (!isService(service)) throw new TypeError("runEscalationSuite: give a service that defineService() returned.");
  const startedAt = performance.now();
  const { context = {}, serve = (served) => served, wrapModel = (model) => model } = options;
  const { attacks: chosen = ATTACKS, startPlanes } = options;
  const notes = new Set<string>();
  const rules = ownerRules(service);
  const attacks = chosen.filter(({ applies }) => applies?.(service) ?? true);
  const roles = rolesOf(service);
  const targets = new Map<TriedRole, Targets>();
  for (const role of roles) targets.set(role, await targetsOf(service, role, { rules, context, notes }));
  await requireValidContext(service, context);

  const { report, count, results, findings } = createTally(roles, attacks);
  const setup = {
    service,
    rules,
    roles,
    context,
    targets,
    notes,
    serve,
    wrapModel,
    report,
    count,
    ...present({ startPlanes }),
  };
  await using fixture = await openFixture(setup);
  const jobs = attacks.flatMap(({ name, run }) =>
    roles.map((role) => () => run(fixture, role, { attack: name, role })),
  );
  await runPooled(jobs, CONCURRENCY);
  await judgeOperatorTraces(fixture);
  return {
    service: service.manifest.name,
    functions: service.manifest.functions.length,
    roles: roles.map(({ stated = null }) => stated),
    results: results(),
    findings,
    notes: [...notes],
    attempts: results().reduce((sum, { attempts }) => sum + attempts, 0),
    durationMs: performance.now() - startedAt,
  };
}

async function requireValidContext(service: Service, context: JsonObject): Promise<void> {
  const prepared = await service.prepare({ context });
  if (prepared.ok) return;
  const faults = prepared.faults.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new TypeError(
    `runEscalationSuite: the service rejects the context (${faults}). Give a context that it accepts.`,
  );
}

/** Judges what remains after all attacks: both logs, the metrics and the audit log. */
async function judgeOperatorTraces(fixture: Fixture): Promise<void> {
  const { plane, agentId, log } = fixture.server;
  const metrics = await (await fetch(`${plane.url}/metrics`)).text();
  const { items: audit } = await plane.admin.listAudit(agentId, { limit: 10_000 });
  const label = { attack: "all of them", role: fixture.roles.at(-1)! };
  judgeOperatorPlaces(fixture, label, { log: [...log], metrics, audit });
}

/** Collects findings, each once, and counts attempts. */
function createTally(roles: readonly TriedRole[], attacks: readonly Attack[]) {
  const findings: Finding[] = [];
  const reported = new Set<string>();
  const tried = new Map<string, number>();
  const keyOf = (attack: string, role: string | null) => JSON.stringify([attack, role]);
  const report: Fixture["report"] = ({ attack, role: { stated: role = null } }, kind, detail) => {
    const finding = { role, attack, kind, detail };
    const key = JSON.stringify(finding);
    if (reported.has(key)) return;
    reported.add(key);
    findings.push(finding);
  };
  const count: Fixture["count"] = ({ attack, role: { stated: role = null } }, attempts) => {
    const key = keyOf(attack, role);
    tried.set(key, (tried.get(key) ?? 0) + attempts);
  };
  const results = () =>
    attacks.flatMap(({ name: attack, risks }) =>
      roles.map(({ stated: role = null }) => {
        const own = findings.filter((finding) => finding.attack === attack && finding.role === role);
        return { role, attack, risks, attempts: tried.get(keyOf(attack, role)) ?? 0, findings: own.length };
      }),
    );
  return { report, count, results, findings };
}

async function runPooled(jobs: readonly (() => Promise<void>)[], concurrency: number): Promise<void> {
  const left = jobs.values();
  const work = async () => {
    for (const job of left) await job();
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

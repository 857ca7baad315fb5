import type { ModelProvider } from "@patchbay/control-plane";
import type { JsonObject } from "@patchbay/protocol";
import { isService, type Service } from "../../service.ts";
import type { Attack } from "./attacks/attack.ts";
import { ATTACKS } from "./attacks/index.ts";
import { judgeUpkeep } from "./judge.ts";
import { ownerRules } from "./owner-rules.ts";
import type { EscalationReport, Finding } from "./report.ts";
import { openStage, type Stage } from "./stage.ts";
import { rolesOf, targetsOf, type Targets, type TriedRole } from "./targets.ts";

/** What the suite must know of the surroundings to attack the service as it is deployed. */
export interface EscalationOptions {
  /** A context that queries may have, where the service takes no empty one. */
  context?: JsonObject;
  /** What the owner's own program puts around the service before it connects it: a cache, a log, retries. */
  serve?: (service: Service) => Service;
  /** What stands between the control plane and the models. */
  wrapModel?: (model: ModelProvider) => ModelProvider;
}

/** Queries in the air at one time. */
const SIDE_BY_SIDE = 16;

/**
 * Tries to get each role (and a query without one) where it must not get: by a model that obeys every instruction it reads and
 * calls every name it can think of, and by frames at the runtime. Handlers are replaced, so nothing real is touched, but
 * `authorize` runs as it is. What counts is what code finds afterwards: which handlers ran, and where marked values got to. Needs
 * the control plane installed, no network and no model.
 *
 * ```ts
 * const { findings } = await runEscalationSuite(service);
 * ```
 */
export async function runEscalationSuite(service: Service, options: EscalationOptions = {}): Promise<EscalationReport> {
  if (!isService(service)) throw new TypeError("runEscalationSuite: give what defineService() returned.");
  const began = performance.now();
  const { context = {}, serve = (served) => served, wrapModel = (model) => model } = options;
  const notes = new Set<string>();
  const rules = ownerRules(service);
  const attacks = ATTACKS.filter(({ applies }) => applies?.(service) ?? true);
  const roles = rolesOf(service);
  const targets = new Map<TriedRole, Targets>();
  for (const role of roles) targets.set(role, await targetsOf(service, role, { rules, context, notes }));
  await checkContext(service, context);

  const { found, count, results, findings } = createTally(roles, attacks);
  await using stage = await openStage({
    service,
    rules,
    roles,
    context,
    targets,
    notes,
    serve,
    wrapModel,
    found,
    count,
  });
  const jobs = attacks.flatMap(({ name, run }) => roles.map((role) => () => run(stage, role, name)));
  await pooled(jobs, SIDE_BY_SIDE);
  await judgeTraces(stage);
  return {
    service: service.manifest.name,
    functions: service.manifest.functions.length,
    roles: roles.map(({ stated = null }) => stated),
    results: results(),
    findings,
    notes: [...notes],
    attempts: results().reduce((sum, { attempts }) => sum + attempts, 0),
    durationMs: performance.now() - began,
  };
}

async function checkContext(service: Service, context: JsonObject): Promise<void> {
  const prepared = await service.prepare({ context });
  if (prepared.ok) return;
  const faults = prepared.faults.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new TypeError(`runEscalationSuite: give a context that queries of this service may have (${faults}).`);
}

/** What stays behind when all is over: every line of both logs, the metrics and the audit log. */
async function judgeTraces(stage: Stage): Promise<void> {
  const { plane, agentId, log } = stage.desk;
  const metrics = await (await fetch(`${plane.url}/metrics`)).text();
  const { items: audit } = await plane.admin.listAudit(agentId, { limit: 10_000 });
  judgeUpkeep(stage, { attack: "all of them", role: stage.roles.at(-1)! }, { log: [...log], metrics, audit });
}

function createTally(roles: readonly TriedRole[], attacks: readonly Attack[]) {
  const findings: Finding[] = [];
  const told = new Set<string>();
  const tried = new Map<string, { role: string | null; attack: string; attempts: number }>();
  const found: Stage["found"] = ({ attack, role: { stated: role = null } }, kind, detail) => {
    const finding = { role, attack, kind, detail };
    const text = JSON.stringify(finding);
    if (told.has(text)) return;
    told.add(text);
    findings.push(finding);
  };
  const count: Stage["count"] = ({ attack, role: { stated: role = null } }, attempts) => {
    const key = JSON.stringify([attack, role]);
    const known = tried.get(key) ?? { role, attack, attempts: 0 };
    known.attempts += attempts;
    tried.set(key, known);
  };
  const results = () => {
    const names = attacks.map(({ name }) => name);
    return names.flatMap((attack) =>
      roles.map(({ stated: role = null }) => {
        const { attempts } = tried.get(JSON.stringify([attack, role])) ?? { attempts: 0 };
        const own = findings.filter((finding) => finding.attack === attack && finding.role === role);
        return { role, attack, attempts, findings: own.length };
      }),
    );
  };
  return { found, count, results, findings };
}

async function pooled(jobs: readonly (() => Promise<void>)[], sideBySide: number): Promise<void> {
  const left = jobs.values();
  const work = async () => {
    for (const job of left) await job();
  };
  await Promise.all(Array.from({ length: sideBySide }, work));
}

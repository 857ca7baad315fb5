import { isDeepStrictEqual } from "node:util";
import { type JsonObject, oncePer } from "@patchbay/kit";
import { actsAs } from "@patchbay/protocol";
import type { Invocation } from "@patchbay/runtime/invocation";
import type { Protection } from "@patchbay/runtime/redaction/protection";
import { ROOT } from "@patchbay/runtime/redaction/shape";
import type { Service } from "@patchbay/runtime/service";
import type { Canaries, CanaryOrigin } from "@patchbay/test-kit/canaries";
import type { LogLine } from "@patchbay/test-kit/finished-query";
import type { QueryTraces } from "@patchbay/test-kit/test-client";
import type { HandlerMode, HandlerRun } from "./instrument.ts";
import { roleName, type FindingKind } from "./report.ts";
import type { OwnerRules, TriedRole } from "./targets.ts";

/** The attack and the role that attempts and findings count under. */
export interface Label {
  readonly attack: string;
  readonly role: TriedRole;
}

/** One query, or one frame series, in an attack. The run id, or the session id, connects all its events. */
export interface AttackCase extends Label {
  readonly sessionId: string;
  /** The role that its calls have. */
  readonly effective: string | undefined;
  /** The context of its calls, for attacks that state other ones. */
  readonly context?: JsonObject;
  readonly mode: HandlerMode;
  /** The calls that reached the runtime, by call id. */
  readonly invocations: Map<string, Invocation>;
  readonly runs: HandlerRun[];
}

/** The rules to judge by, the canaries to look for, and where to report findings. */
export interface Evidence {
  readonly service: Service;
  readonly rules: OwnerRules;
  readonly canaries: Canaries;
  report(label: Label, kind: FindingKind, detail: string): void;
}

/**
 * Judges the calls that reached the runtime and the handlers that ran. `behindControlPlane`: the control plane checks
 * role lists first.
 */
export async function judgeCalls(
  evidence: Evidence,
  attackCase: AttackCase,
  { behindControlPlane }: { behindControlPlane: boolean },
): Promise<void> {
  const { effective, context: expected } = attackCase;
  for (const { functionName, role, context } of attackCase.invocations.values()) {
    const call = `call of ${quoted(functionName)}`;
    if (behindControlPlane && !evidence.rules.isListed(functionName, effective))
      evidence.report(attackCase, "dispatched", `the control plane sent a ${call} to the runtime`);
    if (role !== effective)
      evidence.report(attackCase, "role", `a ${call} reached the runtime with the role ${roleName(role)}`);
    if (expected && !isDeepStrictEqual(context, expected))
      evidence.report(
        attackCase,
        "context",
        `a ${call} reached the runtime with the context ${JSON.stringify(context)}`,
      );
  }
  await Promise.all(attackCase.runs.map((run) => judgeRun(evidence, attackCase, run)));
}

async function judgeRun(evidence: Evidence, attackCase: AttackCase, run: HandlerRun): Promise<void> {
  const { effective } = attackCase;
  const { functionName, callId, role } = run;
  const ran = (what: string): void => evidence.report(attackCase, "ran", `${functionName} ran ${what}`);
  const call = attackCase.invocations.get(callId);
  if (!call) return ran("without a call");
  if (call.functionName !== functionName) return ran(`for a call of ${quoted(call.functionName)}`);
  if (!evidence.rules.isListed(functionName, effective))
    return ran(`although its roles do not include ${roleName(effective)}`);
  if (role !== effective)
    evidence.report(attackCase, "role", `the handler of ${functionName} received the role ${roleName(role)}`);
  const asked = { functionName, input: call.approval?.edited ?? call.arguments, context: call.context };
  const ruling = await evidence.rules.rule(asked, effective);
  if (ruling !== "permitted")
    ran(`although ${ruling === "authorize" ? "authorize refuses" : "its schemas refuse"} the call`);
  if (call.approval === undefined && (await evidence.rules.needsApproval(asked, effective)))
    ran("without the approval of a person");
}

/** Judges a finished query: the functions offered to the model, and every place where a canary can leak. */
export function judgeQuery(evidence: Evidence, attackCase: AttackCase, traces: QueryTraces): void {
  for (const { functions } of traces.requests)
    for (const { name } of functions)
      if (!evidence.rules.isListed(name, attackCase.effective))
        evidence.report(attackCase, "shown", `the model was shown ${name}`);

  const { log, history, ...read } = traces;
  judgePlaces(evidence, attackCase, read);
  judgePlaces(evidence, attackCase, { history }, { byReader: true });
  judgeOperatorPlaces(evidence, attackCase, { log });
}

/**
 * Reports canaries where the case's role reads: from another role's call, a restricted field, an error or a withheld
 * text. `byReader`: the reader of the role's turns may also read turns without a role, and of roles that it includes.
 */
export function judgePlaces(
  evidence: Evidence,
  label: Label & { effective: string | undefined },
  places: object,
  { byReader = false } = {},
): void {
  for (const { origin, path } of evidence.canaries.find(places)) {
    const what = forbiddenFor(evidence.service, origin, label.effective, byReader);
    if (what !== undefined) evidence.report(label, "leaked", `${what} is in ${withoutIndexes(path)}`);
  }
}

/** Reports canaries where operators read. Only the runtime's own log may contain one: a handler's error. */
export function judgeOperatorPlaces(
  { canaries, report }: Evidence,
  label: Label,
  { log, ...more }: { log: readonly LogLine[]; metrics?: string; audit?: unknown },
): void {
  const runtime = log.filter(({ from }) => from === "runtime");
  for (const { origin, path } of canaries.find({ runtime }))
    if (origin.kind !== "error")
      report(label, "leaked", `${nameOf(origin)} is in the runtime's log (${withoutIndexes(path)})`);
  const plane = log.filter(({ from }) => from !== "runtime");
  for (const { origin, path } of canaries.find({ log: plane, ...more }))
    report(label, "leaked", `${nameOf(origin)} is in ${withoutIndexes(path)} of the control plane`);
}

function forbiddenFor(
  service: Service,
  origin: CanaryOrigin,
  role: string | undefined,
  byReader: boolean,
): string | undefined {
  if (origin.kind !== "result") return nameOf(origin);
  const { role: of } = origin;
  const isReadable = of === undefined || (role !== undefined && actsAs(role, service.manifest.roleOptions).has(of));
  if (of !== role)
    return byReader && isReadable ? undefined : `a result that ${roleName(of)} got of ${origin.functionName}`;
  return isRestricted(service, origin, role) ? `the restricted ${nameOf(origin)}` : undefined;
}

const hiddenPaths = oncePer((_protection: Protection) => new Map<string | undefined, string[]>());

function isRestricted({ access }: Service, { functionName, path }: CanaryOrigin, role: string | undefined): boolean {
  const protection = access.get(functionName)?.protection;
  if (!protection) return false;
  const byRole = hiddenPaths(protection);
  let paths = byRole.get(role);
  if (!paths) byRole.set(role, (paths = protection.hiddenFrom(role)));
  return paths.some((hidden) => covers(hidden, path));
}

function covers(hidden: string, path: string): boolean {
  return hidden === ROOT || path === hidden || path.startsWith(`${hidden}.`) || path.startsWith(`${hidden}[`);
}

function nameOf({ kind, functionName, path }: CanaryOrigin): string {
  if (kind === "error") return `the text of an error of ${functionName}`;
  if (kind === "withheld") return `a text that ${functionName} withheld`;
  return path === ROOT ? `result of ${functionName}` : `field ${path} of ${functionName}`;
}

/** A leak at several places in a list is one finding. */
const withoutIndexes = (path: string): string => path.replaceAll(/\[\d+\]/g, "");

const quoted = (name: string): string => JSON.stringify(name);

import {
  type ApprovalRule,
  type CaseDecision,
  type FunctionManifest,
  isOfService,
  type Judgement,
  type Manifest,
  rolesAllow,
  type StoredCall,
} from "@patchbay/protocol";
import { compareSchemas, redactedFor } from "@patchbay/schema";
import { type JsonObject, within } from "@patchbay/kit";
import { type FlowFinding, flowRuleOf, nameDecision, RANK, withFlow } from "@patchbay/access";
import type { Service } from "../service.ts";
import { ownersSteps } from "./lock.ts";
import { judge } from "./judge.ts";
import { compareTexts } from "./matrix.ts";

/** A stored call, with its function set if that is stored. */
export interface JudgedCall extends StoredCall {
  manifest?: Manifest | undefined;
  /** What a connected candidate decides. The service does not judge the call then. */
  judgement?: Judgement;
  /** What the data-flow rules of the service, and of the base, say about it. Absent: they were not replayed. */
  flows?: readonly (FlowFinding | undefined)[];
}

/**
 * What a call would be under another function set. `show`: its result would have a member that it did not have. `ask`:
 * others could approve it.
 */
export interface WhatIfChange {
  kind: "allow" | "ask" | "deny" | "show";
  functionName: string;
  /** Null for queries without a role. */
  role: string | null;
  /** The stored decision, and the rule that refused the call. */
  was: string;
  /** The service's decision, and the rule that refuses the call. For `show`, the result member. */
  is: string;
  calls: number;
  /** The newest calls. */
  examples: { runId: string; callId: string }[];
}

/**
 * Stored calls judged by a service. Every call is in one count; `changes` counts the calls in `changed`, and `show`
 * once per member.
 */
export interface WhatIfReport {
  service: string;
  calls: number;
  unchanged: number;
  changed: number;
  /** Calls on which the base decides differently today than when they were made. They are not compared. */
  drifted: number;
  /** Calls to the agent's other services. */
  otherServices: number;
  /** Calls without a stored decision. */
  unjudged: number;
  /** Calls that the service, or the base, did not decide in time. */
  undecided: number;
  /** Default roles in the stored function sets that differ from the service's default role. Null: none. */
  otherDefaultRoles: (string | null)[];
  changes: WhatIfChange[];
  /** Calls that the service's data-flow rules do not allow, by function and rule. `allowed`: they are only reported. */
  flows: { functionName: string; rule: string; decision: CaseDecision; calls: number }[];
  /** Calls whose data-flow rules were not replayed. */
  unreplayed: number;
}

interface WhatIfOptions {
  /** The service before the change. Without it, every difference from the record is a change. */
  base?: Service | undefined;
}

/** Judges stored calls by a service's checks. No handler runs, and no arguments, contexts or results are kept. */
export async function whatIf(
  service: Service,
  calls: AsyncIterable<JudgedCall> | Iterable<JudgedCall>,
  { base }: WhatIfOptions = {},
): Promise<WhatIfReport> {
  const tally = new Tally(service, base);
  const open = new Set<Promise<void>>();
  for await (const call of calls) {
    const judged = tally.add(call).finally(() => open.delete(judged));
    open.add(judged);
    if (open.size >= AT_ONCE) await Promise.race(open);
  }
  await Promise.all(open);
  return tally.report();
}

/** Concurrent checks: the owner's `authorize` may read a database. */
const AT_ONCE = 16;
const EXAMPLES = 3;

class Tally {
  readonly #service: Service;
  readonly #base: Service | undefined;
  readonly #isRuled: boolean;
  readonly #counts = {
    calls: 0,
    unchanged: 0,
    changed: 0,
    drifted: 0,
    otherServices: 0,
    unjudged: 0,
    undecided: 0,
    unreplayed: 0,
  };
  readonly #flows = new Map<string, WhatIfReport["flows"][number]>();
  readonly #changes = new Map<string, { change: WhatIfChange; order: number[] }>();
  readonly #defaultRoles = new Set<string | null>();
  readonly #shown = new Map<string, Shown[]>();

  constructor(service: Service, base: Service | undefined) {
    this.#service = service;
    this.#base = base;
    this.#isRuled = service.manifest.functions.some(({ flow }) => flow?.mode !== undefined);
  }

  async add(call: JudgedCall): Promise<void> {
    const order = this.#counts.calls++;
    const { manifest } = call;
    if (manifest && !isOfService(this.#service.manifest.name, manifest, call.functionName))
      return void this.#counts.otherServices++;
    if (manifest && manifest.defaultRole !== this.#service.manifest.defaultRole)
      this.#defaultRoles.add(manifest.defaultRole ?? null);
    if (call.decision === undefined) return void this.#counts.unjudged++;
    const { judgement, flows } = call;
    const checked = this.#base && (await judge(this.#base, call));
    const before = checked && withFlow(checked, flows?.[1]);
    const role = call.roleByDefault ? this.#service.manifest.defaultRole : call.role;
    const after = judgement ?? withFlow((await judge(this.#service, { ...call, role })) ?? {}, flows?.[0]);
    const { decision } = after;
    if (decision === undefined || (this.#base && !before)) return void this.#counts.undecided++;
    this.#flow(call, decision, flowRuleOf(after));
    if (before && before.decision !== call.decision) return void this.#counts.drifted++;
    if (decision !== call.decision) {
      this.#counts.changed++;
      const kind = RANK[decision] > RANK[call.decision] ? "allow" : "deny";
      return this.#note(call, order, { kind, was: nameDecision(call), is: nameDecision(after) });
    }
    const shown = call.succeeded ? this.#shows(call, role) : [];
    const asks = decision === "approval" ? this.#asks(call) : undefined;
    this.#counts[shown.length > 0 || asks ? "changed" : "unchanged"]++;
    for (const member of shown) this.#note(call, order, { kind: "show", was: "not sent", is: member });
    if (asks) this.#note(call, order, asks);
  }

  report(): WhatIfReport {
    const changes = [...this.#changes.values()].map(({ change }) => change).toSorted(byImportance);
    return {
      service: this.#service.manifest.name,
      ...this.#counts,
      otherDefaultRoles: [...this.#defaultRoles],
      changes,
      flows: [...this.#flows.values()].toSorted((a, b) => b.calls - a.calls),
    };
  }

  #flow({ functionName, judgement, flows }: JudgedCall, decision: CaseDecision, rule: string | undefined): void {
    if (!judgement && !flows && this.#isRuled) this.#counts.unreplayed++;
    if (rule === undefined) return;
    const key = JSON.stringify([functionName, rule, decision]);
    const found = this.#flows.get(key) ?? { functionName, rule, decision, calls: 0 };
    this.#flows.set(key, { ...found, calls: found.calls + 1 });
  }

  #note(call: JudgedCall, order: number, change: Pick<WhatIfChange, "kind" | "was" | "is">): void {
    const { functionName, role = null, runId, callId } = call;
    const key = JSON.stringify([functionName, role, change.kind, change.was, change.is]);
    const noted = this.#changes.get(key) ?? {
      change: { ...change, functionName, role, calls: 0, examples: [] },
      order: [],
    };
    this.#changes.set(key, noted);
    const { examples } = noted.change;
    noted.change.calls++;
    // Checks end in any order; the examples are the newest calls.
    const found = noted.order.findIndex((other) => other > order);
    const at = found === -1 ? noted.order.length : found;
    noted.order.splice(at, 0, order);
    examples.splice(at, 0, { runId, callId });
    noted.order.length = examples.length = Math.min(examples.length, EXAMPLES);
  }

  /** The approvers, if others than before. Fewer approvers are a refusal of the rest. */
  #asks({ functionName, manifest }: JudgedCall): Pick<WhatIfChange, "kind" | "was" | "is"> | undefined {
    const before = this.#base?.manifest ?? manifest;
    const [was, is] = [before, this.#service.manifest].map(
      (set) => set?.functions.find(({ name }) => name === functionName)?.approval,
    );
    if (!was || !is) return undefined;
    const isMore = (!is.fourEyes && was.fourEyes) || is.by.some((role) => !was.by.includes(role));
    if (!isMore && is.fourEyes === was.fourEyes && is.by.length === was.by.length) return undefined;
    return { kind: isMore ? "ask" : "deny", was: approvers(was), is: approvers(is) };
  }

  /** Members that the role would receive in the call's result, and did not. */
  #shows({ functionName, manifest, manifestHash, redacted }: JudgedCall, role: string | undefined): string[] {
    const key = JSON.stringify([manifestHash, functionName, role]);
    let shown = this.#shown.get(key);
    if (!shown) {
      const stored = manifest?.functions.find(({ name }) => name === functionName);
      const before = this.#base ? outputOf(this.#base, functionName) : stored && storedOutput(stored);
      shown = shownMembers(before, outputOf(this.#service, functionName), role);
      this.#shown.set(key, shown);
    }
    // A marked member was in the result only if the record says that it was removed.
    return shown.filter(({ path, isMarked }) => !isMarked || redacted.includes(path)).map(({ path }) => path);
  }
}

const approvers = ({ by, fourEyes }: ApprovalRule): string =>
  `approval by ${by.join(", ")}${fourEyes ? ", not the sender" : ""}`;

const KINDS = ["allow", "ask", "show", "deny"];

const byImportance = (a: WhatIfChange, b: WhatIfChange): number =>
  KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) ||
  b.calls - a.calls ||
  compareTexts(`${a.functionName} ${a.role} ${a.was} ${a.is}`, `${b.functionName} ${b.role} ${b.was} ${b.is}`);

/** The output schema with its marks. `true`: everything that the handler returns is sent. Undefined: unknown. */
interface Output {
  schema: JsonObject | true | undefined;
  isMarkedFor(path: string, role: string | undefined): boolean;
}

const isMarked = ({ redactions = [] }: FunctionManifest): Output["isMarkedFor"] => {
  const roles = new Map(redactions.map((redaction) => [redaction.path, redaction.roles]));
  return (path, role) => roles.has(path) && !rolesAllow(roles.get(path)!, role);
};

/** A manifest does not say whether a function has no output schema, or did not send it. */
const storedOutput = (stored: FunctionManifest): Output => ({
  schema: stored.outputSchema,
  isMarkedFor: isMarked(stored),
});

function outputOf(service: Service, functionName: string): Output | undefined {
  const access = service.access.get(functionName);
  if (!access) return undefined;
  // `{}`: the library cannot write the schema as JSON Schema.
  const schema = access.output === undefined ? true : (access.manifest.outputSchema ?? {});
  return { schema, isMarkedFor: isMarked(access.manifest) };
}

interface Shown {
  path: string;
  isMarked: boolean;
}

/** The places at which a role receives more by the second schema than by the first. The whole result is `$`. */
function shownMembers(before: Output | undefined, after: Output | undefined, role: string | undefined): Shown[] {
  const [was, is] = [before?.schema, after?.schema];
  if (was === undefined || was === true || is === undefined) return [];
  if (is === true) return [{ path: "$", isMarked: false }];
  const steps = ownersSteps();
  const wider = within(
    steps,
    steps.left,
    (own) => {
      const [old, now] = [redactedFor(was, role, own), redactedFor(is, role, own)];
      return compareSchemas(old, now, { results: true, steps: own }).wider;
    },
    () => [{ path: "" }],
  );
  const paths = [...new Set(wider.map(({ path }) => (path === "" ? "$" : path)))];
  return paths.map((path) => ({ path, isMarked: before!.isMarkedFor(path, role) }));
}

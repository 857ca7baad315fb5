import { type AccessLock, FLOW_MODES, type FlowRules, type LockedFunction } from "@patchbay/protocol";
import { type AccessChange, cellFor, change, isHidden, own, quote } from "../sentences.ts";

type Say = (kind: AccessChange["kind"], sentence: string) => AccessChange;

const strictness = ({ mode }: FlowRules): number => (mode === undefined ? -1 : FLOW_MODES.indexOf(mode));
const LOOSENESS = { caller: 0, trusted: 1, any: 2 } as const;

/** What a function's data-flow rules allow that they did not, and the other way round. */
export function compareFlow(
  name: string,
  { flow: was = {} }: LockedFunction,
  { flow: is = {} }: LockedFunction,
): AccessChange[] {
  const say: Say = (kind, sentence) => change(kind, "flow", sentence);
  const than = strictness(is) - strictness(was);
  const modes = `data-flow rules of ${name}: ${is.mode ?? "none"} replaces ${was.mode ?? "none"}`;
  const limits = [
    { before: was.untrusted, after: is.untrusted, of: "label untrusted", isLimit: true },
    { before: was.secret, after: is.secret, of: "label secret", isLimit: true },
    { before: was.sends, after: is.sends, of: "sends", isLimit: true },
  ];
  // Words and approvers allow more only where the rules applied before.
  const reliefs = [
    { before: was.verbs, after: is.verbs, of: "verb", isLimit: false },
    { before: was.by, after: is.by, of: "approver", isLimit: false },
  ];
  const foreign = was.foreign && !is.foreign ? [say("widening", `${name} is not foreign any more`)] : [];
  const sent = was.withheld && !is.withheld ? [say("widening", `results of ${name} are not withheld any more`)] : [];
  const lists = was.mode !== undefined && is.mode !== undefined ? [...limits, ...reliefs] : limits;
  const [strange, isStrange] = [was.returns === "untrusted", is.returns === "untrusted"];
  return [
    ...(than === 0 ? [] : [say(than < 0 ? "widening" : "narrowing", modes)]),
    ...(strange === isStrange
      ? []
      : [say(strange ? "widening" : "narrowing", `${name} returns ${is.returns ?? "trusted"} data`)]),
    ...foreign,
    ...sent,
    ...lists.flatMap(({ of, isLimit, before = [], after = [] }) => [
      ...before
        .filter((one) => !after.includes(one))
        .map((one) => say(isLimit ? "widening" : "narrowing", `${of} ${quote(one)} of ${name} is gone`)),
      ...after
        .filter((one) => !before.includes(one))
        .map((one) => say(isLimit ? "narrowing" : "widening", `${of} ${quote(one)} of ${name} is new`)),
    ]),
    ...compareTargets(name, was.targets ?? {}, is.targets ?? {}, say),
  ];
}

type Targets = NonNullable<FlowRules["targets"]>;

const compareTargets = (name: string, was: Targets, is: Targets, say: Say): AccessChange[] =>
  Object.keys({ ...was, ...is }).flatMap((member) => {
    const [old, now] = [own(was, member) ?? "any", own(is, member) ?? "any"];
    const more = LOOSENESS[now] - LOOSENESS[old];
    if (more === 0) return [];
    return [say(more > 0 ? "widening" : "narrowing", `target ${quote(member)} of ${name} is ${now}, and was ${old}`)];
  });

/** A role that may read from the source and call the sink. */
export interface FlowPair {
  role: string;
  source: string;
  /** What the source returns. Data labelled `secret` has functions that send as sinks. */
  label: "untrusted" | "secret";
  sink: string;
  /** `open`: nothing decides where data from the source may go. */
  verdict: "open" | "reported" | "asked" | "denied";
  /**
   * `proved`: no value of the source can be a target, or no call sends after the secret, without a person. `tested`: in a stored run, the
   * rules stopped such a call. Else `open`.
   */
  proof: "proved" | "tested" | "open";
}

const VERDICTS = { report: "reported", ask: "asked", deny: "denied" } as const;

const isSource = ({ flow }: Pick<LockedFunction, "flow">): boolean =>
  flow?.returns === "untrusted" || flow?.foreign === true || (flow?.untrusted ?? []).length > 0;
const isPrivate = ({ flow }: LockedFunction): boolean => (flow?.secret ?? []).length > 0;
const sendsOut = ({ flow }: LockedFunction): boolean => (flow?.sends ?? []).length > 0;
const isSink = (one: LockedFunction): boolean => one.effect === "destructive" || sendsOut(one);

/** True if a rule decides on each of the function's targets. */
const isGuarded = ({ flow }: LockedFunction): boolean => {
  const sources = Object.values(flow?.targets ?? {});
  return sources.length > 0 && !sources.includes("any");
};

/** Every source and sink that a role may combine. */
export function flowPairs({ functions }: Pick<AccessLock, "functions">, roles: readonly string[]): FlowPair[] {
  const all = Object.entries(functions);
  return roles.flatMap((role) => {
    const may = all.filter(([, one]) => !isHidden(cellFor(one, role)));
    const pairs = (label: FlowPair["label"], isFrom: (one: LockedFunction) => boolean) => {
      const sinks = may.filter(([, one]) => (label === "secret" ? sendsOut(one) : isSink(one)));
      const sources = may.filter(([, one]) => isFrom(one));
      return sources.flatMap(([source]) =>
        sinks.map(([sink, one]): FlowPair => ({ role, source, label, sink, ...sureness(label, one) })),
      );
    };
    return [...pairs("untrusted", isSource), ...pairs("secret", isPrivate)];
  });
}

function sureness(label: FlowPair["label"], one: LockedFunction): Pick<FlowPair, "verdict" | "proof"> {
  const { mode, targets = {} } = one.flow ?? {};
  const verdict = mode && (label === "secret" || isGuarded(one)) ? VERDICTS[mode] : "open";
  const isDecided = verdict === "asked" || verdict === "denied";
  const isCallers = label === "secret" || Object.values(targets).every((from) => from === "caller");
  return { verdict, proof: isDecided && isCallers ? "proved" : "open" };
}

/** A function's labels and targets in one line: `untrusted; to caller; sends body`. Undefined without any. */
export function describeFlow({ flow = {} }: Pick<LockedFunction, "flow">): string | undefined {
  const { targets = {}, sends = [], secret = [], withheld } = flow;
  const parts = [
    ...(isSource({ flow }) ? ["untrusted"] : []),
    ...(secret.length > 0 ? ["secret"] : []),
    ...(withheld ? ["withheld"] : []),
    ...Object.entries(targets).map(([member, from]) => `${member} ${from}`),
    ...(sends.length > 0 ? [`sends ${sends.join(", ")}`] : []),
  ];
  return parts.length > 0 ? parts.join("; ") : undefined;
}

/** What a role holds together. An agent that holds all three can be made to send private data to a stranger. */
export function heldBy({ functions }: Pick<AccessLock, "functions">, role: string) {
  const may = Object.entries(functions).filter(([, one]) => !isHidden(cellFor(one, role)));
  const named = (is: (one: LockedFunction) => boolean) => may.filter(([, one]) => is(one)).map(([name]) => name);
  return { untrusted: named(isSource), private: named(isPrivate), outward: named(sendsOut) };
}

import { createHmac, timingSafeEqual } from "node:crypto";
import { evidenceOf } from "@patchbay/access";
import type { CallFrame, CallFlow, CallOutcome, FlowEvidence } from "@patchbay/protocol";
import type { Service } from "../service.ts";

/** The newest key first. All runtimes of a service share them, and the control plane never has them. */
export type FlowKeys = readonly string[];

const KEY_UNITS = 32;

/** Throws a `TypeError` for keys that prove nothing, and without one for a service that denies. */
export function checkFlowKeys({ manifest }: Pick<Service, "manifest">, keys: FlowKeys = []): FlowKeys {
  const short = keys.find((key) => key.length < KEY_UNITS);
  if (short !== undefined)
    throw new TypeError(
      `connect: a flow key has ${short.length} characters, and needs ${KEY_UNITS}. Make one with "openssl rand -base64 32".`,
    );
  const denies = manifest.functions.find(({ flow }) => flow?.mode === "deny");
  if (denies && keys.length === 0)
    throw new TypeError(
      `connect: the service "${manifest.name}" denies by its data-flow rules, which need a flow key. Give all its runtimes the same flowKeys, or PATCHBAY_FLOW_KEY_FILE to "patchbay connect".`,
    );
  return keys;
}

type OfThread = Pick<CallFrame, "threadId">;

function tagOf(key: string, threadId: string, evidence: FlowEvidence): string {
  const { runId, callId, functionName, untrusted, secret, asked, records } = evidence;
  const proved = ["flow-1", threadId, runId, callId, functionName, untrusted, secret, asked, records];
  return createHmac("sha256", key).update(JSON.stringify(proved)).digest("base64url");
}

/** The outcome with the runtime's proof of its labels and trusted values. */
export function withTag(frame: CallFrame, outcome: CallOutcome, [key]: FlowKeys): CallOutcome {
  if (key === undefined) return outcome;
  const { runId, callId, function: functionName, arguments: given, threadId } = frame;
  const evidence = evidenceOf({ runId, callId, functionName, arguments: given, outcome });
  return { ...outcome, flow: { ...outcome.flow, tag: tagOf(key, threadId, evidence) } };
}

/** What the control plane says about the run, with the results only that a runtime of this service has proved. */
export function provedFlow({ threadId }: OfThread, flow: CallFlow, keys: FlowKeys): CallFlow {
  const isProved = (one: FlowEvidence): boolean =>
    keys.some((key) => isEqual(one.tag ?? "", tagOf(key, threadId, one)));
  const results = flow.results.filter(isProved);
  const has = (label: "untrusted" | "secret"): boolean => flow.results.some((one) => one[label].length > 0);
  return { ...flow, results, tainted: flow.tainted || has("untrusted"), secret: flow.secret || has("secret") };
}

const isEqual = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

import type { CallRecord } from "@patchbay/engine/ports/records";
import { judgeFlow, withLabels } from "@patchbay/engine/run/calls/flow";
import type { ActiveRun, RunState } from "@patchbay/engine/run/state";
import {
  defineFunction,
  defineService,
  type FlowOptions,
  type Service,
  silentLog,
  untrusted,
} from "@patchbay/functions";
import { provedFlow, withTag } from "@patchbay/runtime/flow/tags";
import type { CallFrame } from "@patchbay/protocol";
import { openStore } from "@patchbay/store/open";
import { z } from "zod";
import { median } from "../../bench/jobs.ts";

const text = z.string();
const NAMES = ["Bob", "Eve", "Ida", "Max"];
const QUERY = `Read my mail, then pay ${NAMES.join(", then pay ")}.`;
const MAILS = Array.from({ length: 20 }, (_, i) => ({ id: `m-${i}`, from: "shop@example.com", body: "Your bill." }));
/** Each turn has one call. */
const CALLS = NAMES.flatMap((name): [string, Record<string, string>][] => [
  ["read_inbox", {}],
  ["find_contact", { name }],
  ["pay_bill", { account: `acc-of-${name.toLowerCase()}` }],
]);

/** Strangers' mails, the owner's contacts, and payments. Without `flows`, nothing has a label. */
function bank(flows?: FlowOptions): Service {
  const strange = flows ? untrusted(text) : text;
  const of = { description: "Does it.", roles: "everyone", effect: "read" } as const;
  return defineService({
    name: "bank",
    ...(flows && { flows }),
    functions: [
      defineFunction({
        ...of,
        name: "read_inbox",
        input: z.object({}),
        output: z.array(z.object({ id: text, from: strange, body: strange })),
        handler: () => MAILS,
      }),
      defineFunction({
        ...of,
        name: "find_contact",
        input: z.object({ name: text }),
        output: z.object({ name: text, account: text }),
        handler: ({ name }) => ({ name, account: `acc-of-${name.toLowerCase()}` }),
      }),
      defineFunction({
        ...of,
        name: "pay_bill",
        effect: "destructive",
        input: z.object({ account: text }),
        ...(flows && { targets: { account: "trusted" } as const }),
        handler: () => null,
      }),
    ],
  });
}

const KEYS = ["k".repeat(32)];
const options = { signal: new AbortController().signal, log: silentLog };

/** One run: its calls pass the rules of the control plane, then those of the runtime with the handler. */
async function playRun(service: Service, active: ActiveRun, { isRuled, isJudged }: Variant): Promise<void> {
  const functions = new Map(service.manifest.functions.map((one) => [one.name, one]));
  const run = { runId: "run_1", agentId: "agt_1", threadId: "thr_1", request: { query: QUERY } };
  const flow = isRuled ? { words: [QUERY], earlier: [], labels: new Set() } : undefined;
  const state = { run, functions, flow, calls: [] as CallRecord[], continuedCalls: 0 } as unknown as RunState;
  for (const [i, [functionName, given]] of CALLS.entries()) {
    const call = { callId: `call_${i}`, functionName, arguments: given, attempt: 1 } as unknown as CallRecord;
    const manifest = functions.get(functionName)!;
    const verdict = isJudged ? await judgeFlow(state, call, manifest, active) : undefined;
    const frame = { ...run, callId: call.callId, function: functionName, arguments: given } as unknown as CallFrame;
    const proved = verdict && provedFlow(frame, verdict.flow, KEYS);
    const invocation = { ...run, callId: call.callId, functionName, arguments: given, attempt: 1, timeoutMs: 60_000 };
    const ended = await service.invoke({ ...invocation, context: {}, ...(proved && { flow: proved }) }, options);
    if (!ended.ok) throw new Error(`${functionName} ended with ${ended.code}: ${ended.message}`);
    const outcome = isRuled ? withTag(frame, ended, KEYS) : ended;
    const delivery = { kind: "outcome", outcome } as const;
    const labelled = isJudged ? withLabels(state, manifest, delivery) : delivery;
    state.calls.push({ ...call, ...(labelled.kind === "outcome" && { outcome: labelled.outcome }) });
  }
}

interface Variant {
  isRuled: boolean;
  isJudged: boolean;
}

const RUNS = 40;

/**
 * What only the rules cost a call at both ends, in µs of processor time and without the transport: in a service that denies, and in one without labels, whose
 * control plane looks for rules and finds none. Medians over rounds, in which each variant runs once.
 */
export async function costOfRules(rounds: number): Promise<Record<"deny" | "noLabels", number>> {
  const store = await openStore("sqlite::memory:");
  try {
    const observer = { flowDisallowed: () => {} };
    const active = { runs: store.runs, observer } as unknown as ActiveRun;
    const [plain, ruled] = [bank(), bank({ mode: "deny" })];
    const variants: [Service, Variant][] = [
      [plain, { isRuled: false, isJudged: false }],
      [plain, { isRuled: false, isJudged: true }],
      [ruled, { isRuled: true, isJudged: true }],
    ];
    const took: number[][] = variants.map(() => []);
    // The first round compiles.
    for (let round = 0; round <= rounds; round++)
      for (const [i, [service, variant]] of variants.entries()) {
        const before = process.cpuUsage();
        for (let n = 0; n < RUNS; n++) await playRun(service, active, variant);
        const { user, system } = process.cpuUsage(before);
        if (round > 0) took[i]!.push((user + system) / RUNS / CALLS.length);
      }
    const [bare = [], noLabels = [], deny = []] = took;
    const more = (than: readonly number[]): number => median(than.map((us, round) => us - bare[round]!));
    return { noLabels: more(noLabels), deny: more(deny) };
  } finally {
    await store.close();
  }
}

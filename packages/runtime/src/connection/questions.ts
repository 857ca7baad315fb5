import {
  type CallToJudge,
  type ControlPlaneFrame,
  type JudgeFrame,
  LIMITS,
  type RuntimeFrame,
} from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { judge } from "../access/judge.ts";
import { createReference, type Log } from "../log.ts";
import type { Service } from "../service.ts";
import type { ControlPlaneConnection } from "./connection.ts";
import { encodeFrame } from "./frames.ts";
import { hookSpan, type InSpan, prepareSpan } from "./traces.ts";

type FrameOf<Type extends ControlPlaneFrame["type"]> = Extract<ControlPlaneFrame, { type: Type }>;

/** What answering a control plane question needs. */
export interface Answering {
  service: Service;
  log: Log;
  inSpan: InSpan;
  /** Aborts when the runtime stops. */
  signal: AbortSignal;
}

/** Has the owner's code prepare a query's context, or decide on a call. Never rejects. */
export async function answerPrepare(
  frame: FrameOf<"prepare">,
  connection: ControlPlaneConnection,
  { service, log, inSpan }: Answering,
): Promise<void> {
  const { id, role, context, caller, call } = frame;
  const query = { context, ...present({ role, caller }) };
  const answer = () => (call ? judgeCall(service, { ...query, call }) : service.prepare(query, { log }));
  const prepared = await inSpan(prepareSpan(service, frame), answer).catch((error: unknown) => {
    log.error("the context could not be prepared", { error });
    return { ok: false as const, faults: [{ path: "contextJson", message: "could not be checked" }] };
  });
  const text = encodeFrame({ type: "prepared", id, prepared });
  if (text === undefined)
    log.error("the prepared context exceeds the limit of a frame", { frameBytes: LIMITS.frameBytes });
  else connection.send(text);
}

async function judgeCall(
  service: Service,
  { call, ...query }: Pick<FrameOf<"prepare">, "role" | "context" | "caller"> & { call: CallToJudge },
) {
  const asked = { functionName: call.function, role: undefined, ...query, arguments: call.arguments };
  return { ok: true as const, judgement: (await judge(service, asked)) ?? {} };
}

/** Runs an owner's hook. Never rejects. */
export async function answerHook(
  frame: FrameOf<"hook">,
  connection: ControlPlaneConnection,
  { service, log, inSpan, signal }: Answering,
): Promise<void> {
  const { id, call, timeoutMs } = frame;
  const run = () => service.runHook(call, { signal, timeoutMs, log });
  const result = await inSpan(hookSpan(service, frame), run).catch((error: unknown) => {
    const reference = createReference();
    log.error("internal error while running a hook", { hook: call.hook, reference, error });
    return { verdict: "failed" as const, reference };
  });
  connection.send(JSON.stringify({ type: "hookResult", id, result } satisfies RuntimeFrame));
}

/** Answers what the service's checks decide on a call. No handler runs. */
export async function answerJudge(
  service: Service,
  { id, function: functionName, role, context, caller, arguments: given }: JudgeFrame,
  connection: ControlPlaneConnection,
): Promise<void> {
  const verdict = await judge(service, { functionName, role, context, caller, arguments: given });
  connection.send(JSON.stringify({ type: "judged", id, ...verdict } satisfies RuntimeFrame));
}

import { type ControlPlaneFrame, LIMITS, present, type RuntimeFrame } from "@patchbay/protocol";
import { createReference, type Log } from "../log.ts";
import type { Service } from "../service.ts";
import type { ControlPlaneConnection } from "./connection.ts";
import { encodeFrame } from "./frames.ts";
import { hookSpan, type InSpan, prepareSpan } from "./traces.ts";

type FrameOf<Type extends ControlPlaneFrame["type"]> = Extract<ControlPlaneFrame, { type: Type }>;

/** What answering a question of the control plane needs. */
export interface Answering {
  service: Service;
  log: Log;
  inSpan: InSpan;
  /** Aborts when the runtime stops. */
  signal: AbortSignal;
}

/** Has the owner's code prepare the context of a query. Never rejects. */
export async function answerPrepare(
  frame: FrameOf<"prepare">,
  connection: ControlPlaneConnection,
  { service, log, inSpan }: Answering,
): Promise<void> {
  const { id, role, context } = frame;
  const query = { context, ...present({ role }) };
  const prepared = await inSpan(prepareSpan(service, frame), () => service.prepare(query, { log })).catch(
    (error: unknown) => {
      log.error("the context could not be prepared", { error });
      return { ok: false as const, faults: [{ path: "contextJson", message: "could not be checked" }] };
    },
  );
  const text = encodeFrame({ type: "prepared", id, prepared });
  if (text === undefined)
    log.error("the prepared context exceeds the limit of a frame", { frameBytes: LIMITS.frameBytes });
  else connection.send(text);
}

/** Runs a hook of the owner. Never rejects. */
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

import type { RunTrace, TestCallResult } from "@patchbay/protocol/console";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { useAction } from "../../api/action.ts";
import { api } from "../../api/api.ts";
import { type FollowedEvent, followRun, startTestCall } from "../../api/stream.ts";
import type { Arguments } from "../../parts/schema-form/arguments-form.tsx";
import { addEvent, callsOf, EMPTY_TRANSCRIPT, type Transcript } from "../../parts/conversation/exchange.ts";

/** A test call as it was sent. */
export interface SentCall {
  role: string | undefined;
  arguments: Arguments;
  context: Arguments | undefined;
}

/** A test call's result, with its runtime's host and deployment. */
export type ShownResult = TestCallResult & { runtimeName?: string | undefined };

/** A test call from its start to its result. */
export interface TestRun {
  /** Without arguments if a followed call's trace has only some. */
  sent: Omit<SentCall, "arguments"> & { arguments: Arguments | undefined };
  /** True for a call sent by an earlier page visit. */
  followed: boolean;
  /** When it was sent, in milliseconds since 1970 on the page's clock. */
  sentAt: number;
  /** Undefined until the control plane has accepted it. */
  runId: string | undefined;
  transcript: Transcript;
  /** Undefined while it runs. */
  result: ShownResult | undefined;
  error: unknown;
}

export const isPending = (run: TestRun | undefined): boolean =>
  run !== undefined && run.result === undefined && run.error === undefined;

export interface TestRunOptions {
  /** An earlier visit's open call; followed from the start. */
  open: Pick<TestRun, "sent" | "sentAt" | "runId"> | undefined;
  /** Called with the run of each new call. */
  onBegin: (runId: string) => void;
}

/**
 * The page's last test call, and a function that begins another one. A call continues when the member leaves the page
 * or begins another call.
 */
export function useTestRun(agentId: string, functionName: string, { open, onBegin }: TestRunOptions) {
  const [run, setRun] = useState<TestRun>();
  const leaving = useRef(new AbortController());

  const show = async (
    first: Pick<TestRun, "sent" | "sentAt" | "runId" | "followed">,
    eventsOf: (signal: AbortSignal, onRun: (runId: string) => void) => AsyncIterable<FollowedEvent>,
  ): Promise<void> => {
    leaving.current.abort();
    leaving.current = new AbortController();
    const { signal } = leaving.current;
    let current: TestRun = { ...first, transcript: EMPTY_TRANSCRIPT, result: undefined, error: undefined };
    const change = (changed: Partial<TestRun>): void => {
      current = { ...current, ...changed };
      if (!signal.aborted) setRun(current);
    };
    change({});
    try {
      const onRun = (runId: string): void => {
        change({ runId });
        if (!signal.aborted) onBegin(runId);
      };
      for await (const event of eventsOf(signal, onRun)) change({ transcript: addEvent(current.transcript, event) });
      const params = { agentId, runId: current.runId ?? "" };
      const trace = await api.get("/agents/:agent_id/runs/:run_id", { params, signal });
      change({ result: resultOf(trace, current.transcript) });
    } catch (error) {
      change({ error });
    }
  };

  const follow = useEffectEvent(() => {
    const { runId } = open ?? {};
    if (!open || runId === undefined) return;
    void show({ ...open, followed: true }, (signal) => followRun(runId, { agentId, signal }));
  });
  useEffect(() => {
    follow();
    return () => leaving.current.abort();
  }, []);

  /** In progress until the control plane has accepted the call, or refused it. */
  const { mutate: begin } = useAction({
    mutationFn: (sent: SentCall) =>
      new Promise<void>((accepted) => {
        const { role, arguments: given, context } = sent;
        const body = { arguments: given, ...(role !== undefined && { role }), ...(context && { context }) };
        void show({ sent, sentAt: Date.now(), runId: undefined, followed: false }, (signal, begun) => {
          const onRun = (runId: string): void => {
            begun(runId);
            accepted();
          };
          return startTestCall(functionName, body, { agentId, signal, onRun });
        }).finally(accepted);
      }),
  });
  return { run, begin };
}

/** The outcome of the run's call. The trace has its checks and times, the events its whole value. */
export function resultOf(trace: RunTrace, transcript: Transcript): ShownResult {
  const { runId, code, errorMessage, durationMs } = trace;
  const call = trace.spans.find(({ kind }) => kind === "call");
  const outcome = callsOf(transcript)[0]?.outcome;
  if (!call || !outcome) {
    const nowhere = { callId: null, runtime: null, rule: null, redacted: [] };
    return { runId, ok: false, code, errorMessage, durationMs, ...nowhere };
  }
  const { runtime, runtimeName, withheld } = call.attributes;
  const about = {
    runId,
    callId: call.id,
    runtime: typeof runtime === "string" ? runtime : null,
    ...(typeof runtimeName === "string" && { runtimeName }),
    redacted: Array.isArray(withheld) ? withheld : [],
    durationMs: (call.endMs ?? call.startMs) - call.startMs,
  };
  if (outcome.ok) return { ...about, ok: true, value: outcome.result, code: null, errorMessage: null, rule: null };
  const failure = { code: call.code, errorMessage: call.errorMessage, rule: call.rule };
  return { ...about, ok: false, ...failure, ...(call.error && { error: call.error }) };
}

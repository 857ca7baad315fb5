import type { RunTrace, TestCallResult } from "@patchbay/protocol/console";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { api } from "../../api/api.ts";
import { type FollowedEvent, followRun, startTestCall } from "../../api/stream.ts";
import type { Arguments } from "../../schema-form/arguments-form.tsx";
import { addEvent, callsOf, EMPTY_TRANSCRIPT, type Transcript } from "../conversation/exchange.ts";

/** A test call as it was sent. */
export interface SentCall {
  role: string | undefined;
  arguments: Arguments;
  context: Arguments | undefined;
}

/** The result of a test call, with host and deployment of its runtime. */
export type ShownResult = TestCallResult & { runtimeName?: string | undefined };

/** A test call from its start to its result. */
export interface TestRun {
  /** Without arguments if the trace of a followed call has only a part of them. */
  sent: Omit<SentCall, "arguments"> & { arguments: Arguments | undefined };
  /** True for a call that an earlier visit of the page sent. */
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
  /** A call of an earlier visit that has not ended; followed from the start. */
  open: Pick<TestRun, "sent" | "sentAt" | "runId"> | undefined;
  /** Called with the run of each call that is begun. */
  onBegin: (runId: string) => void;
}

/**
 * The last test call of the page, and a function that begins another one. A call continues when the page is left, or another call is
 * begun.
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

  const begin = (sent: SentCall): void => {
    const { role, arguments: given, context } = sent;
    const body = { arguments: given, ...(role !== undefined && { role }), ...(context && { context }) };
    void show({ sent, sentAt: Date.now(), runId: undefined, followed: false }, (signal, onRun) =>
      startTestCall(functionName, body, { agentId, signal, onRun }),
    );
  };
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

import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/api.ts";
import { type FollowedEvent, followRun, startQuery } from "../../api/stream.ts";
import { createSignal, type Signal, useSignal } from "../../state/signals.ts";
import {
  addEvent,
  awaitsApproval,
  EMPTY_TRANSCRIPT,
  exchangesOf,
  type PastExchange,
  type Transcript,
} from "../../parts/conversation/exchange.ts";
import { threadPages } from "../../parts/conversation/past-exchange.tsx";
import type { QueryBody } from "../../parts/playground/settings.ts";

/** A query that this page sent or follows. */
export interface LiveExchange {
  key: string;
  query: string;
  role: string;
  /** Undefined for a run that this page did not start. */
  sent: QueryBody | undefined;
  /** Undefined until the control plane accepted the query. */
  runId: string | undefined;
  stopping: boolean;
  transcript: Transcript;
  /** Why the query could not be sent or followed. */
  error: unknown;
}

export interface LaneState {
  /** The next query's thread; undefined starts a new one. */
  threadId: string | undefined;
  exchanges: readonly LiveExchange[];
}

export interface LaneOptions {
  agentId: string;
  cancel: (runId: string) => Promise<unknown>;
  /** The thread that is shown first. */
  threadId?: string | undefined;
  /** Replaced in tests. */
  streams?: { startQuery: typeof startQuery; followRun: typeof followRun };
}

/** Events that arrive within this time are shown together, because tokens arrive faster than the page renders. */
const BATCH_MS = 40;

let lastKey = 0;

/** One playground conversation: sends queries to a thread and follows their runs. */
export class Lane {
  readonly state: Signal<LaneState>;
  readonly #options: Required<Omit<LaneOptions, "threadId">>;
  /** Ends the shown thread's streams; their runs continue. */
  #streaming = new AbortController();

  constructor({ threadId, streams = { startQuery, followRun }, ...options }: LaneOptions) {
    this.state = createSignal<LaneState>({ threadId, exchanges: [] });
    this.#options = { ...options, streams };
  }

  /** Shows another thread, or none. Runs in progress continue but are no longer shown. */
  open(threadId: string | undefined): void {
    this.close();
    this.state.set({ threadId, exchanges: [] });
  }

  /** Resolves once the query has a run, or could not be sent. */
  send(body: QueryBody, role = ""): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { agentId, streams } = this.#options;
    const { signal } = this.#streaming;
    const key = this.#add({ query: body.query, role, sent: body, runId: undefined });
    const onRun = (runId: string, threadId: string | undefined): void => {
      resolve();
      if (signal.aborted) return; // another thread was opened
      this.#change(key, () => ({ runId }));
      if (threadId !== undefined) this.state.set({ ...this.state.get(), threadId });
      // Stop was pressed before the run had an id.
      if (this.state.get().exchanges.find((exchange) => exchange.key === key)?.stopping) this.#cancel(runId, key);
    };
    void this.#show(key, streams.startQuery(body, { agentId, signal, onRun })).finally(resolve);
    return promise;
  }

  /** Follows a run that another page started, or this one before it was reloaded. */
  follow({ run, query }: PastExchange): void {
    if (this.state.get().exchanges.some(({ runId }) => runId === run.runId)) return;
    const { agentId, streams } = this.#options;
    const { signal } = this.#streaming;
    const key = this.#add({ query, role: run.role ?? "", sent: undefined, runId: run.runId });
    void this.#show(key, streams.followRun(run.runId, { agentId, signal }));
  }

  /** Cancels the runs in progress; one without an id yet is cancelled when it gets one. */
  stop(): void {
    const running = this.state.get().exchanges.filter((exchange) => isRunning(exchange) && !exchange.stopping);
    for (const { key, runId } of running) {
      this.#change(key, () => ({ stopping: true }));
      if (runId !== undefined) this.#cancel(runId, key);
    }
  }

  /** Stops following; runs continue. */
  close(): void {
    this.#streaming.abort();
    this.#streaming = new AbortController();
  }

  #cancel(runId: string, key: string): void {
    this.#options.cancel(runId).catch((error: unknown) => this.#change(key, () => ({ stopping: false, error })));
  }

  #add(exchange: Pick<LiveExchange, "query" | "role" | "sent" | "runId">): string {
    const key = `query-${(lastKey += 1)}`;
    const added: LiveExchange = {
      ...exchange,
      key,
      stopping: false,
      transcript: EMPTY_TRANSCRIPT,
      error: undefined,
    };
    const { exchanges, ...rest } = this.state.get();
    this.state.set({ ...rest, exchanges: [...exchanges, added] });
    return key;
  }

  #change(key: string, change: (exchange: LiveExchange) => Partial<LiveExchange>): void {
    const { exchanges, ...rest } = this.state.get();
    this.state.set({
      ...rest,
      exchanges: exchanges.map((exchange) => (exchange.key === key ? { ...exchange, ...change(exchange) } : exchange)),
    });
  }

  /** Adds events to an exchange in batches; nothing is shown after the thread was left. */
  async #show(key: string, events: AsyncIterable<FollowedEvent>): Promise<void> {
    const { signal } = this.#streaming;
    let batch: FollowedEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = (): void => {
      clearTimeout(timer);
      timer = undefined;
      const received = batch;
      batch = [];
      if (received.length > 0 && !signal.aborted)
        this.#change(key, ({ transcript }) => ({ transcript: received.reduce(addEvent, transcript) }));
    };
    try {
      for await (const event of events) {
        batch.push(event);
        timer ??= setTimeout(flush, BATCH_MS);
      }
      flush();
    } catch (error) {
      flush();
      if (!signal.aborted) this.#change(key, () => ({ error }));
    }
  }
}

export const isRunning = ({ transcript, error }: LiveExchange): boolean =>
  transcript.end === undefined && error === undefined;

/** An exchange's state, as `Status` shows it. */
export function stateOf({ transcript, error }: LiveExchange): string {
  const { end } = transcript;
  if (end?.ok) return "succeeded";
  if (end) return end.code === "cancelled" ? "cancelled" : "failed";
  if (error !== undefined) return "failed";
  return awaitsApproval(transcript) ? "waiting" : "running";
}

const route = getRouteApi("/shell/agents/$agentId/playground");

/** A conversation's exchange: stored, or followed by this page. */
export type ShownExchange = Pick<LiveExchange, "query" | "role" | "runId"> &
  ({ past: PastExchange; live?: undefined } | { live: LiveExchange; past?: undefined });

/** A conversation and its thread; the search parameter `param` and the conversation follow each other. */
export function useLane(agentId: string, param: "thread" | "thread2") {
  const inUrl = route.useSearch()[param];
  const navigate = route.useNavigate();
  const [lane] = useState(() => new Lane({ agentId, cancel: (runId) => cancelRun(agentId, runId), threadId: inUrl }));
  const { threadId, exchanges } = useSignal(lane.state);
  const thread = useInfiniteQuery({ ...threadPages(agentId, threadId ?? ""), enabled: threadId !== undefined });
  const followed = new Set(exchanges.map(({ runId }) => runId));
  const past = thread.data ? exchangesOf(thread.data).filter(({ run }) => !followed.has(run.runId)) : [];
  const running = past.filter(({ run }) => run.finishedAt === null);
  const shown: ShownExchange[] = [
    ...past.map((entry) => ({ past: entry, query: entry.query, role: entry.run.role ?? "", runId: entry.run.runId })),
    ...exchanges.map((live) => ({ live, query: live.query, role: live.role, runId: live.runId })),
  ];

  useEffect(() => () => lane.close(), [lane]);
  useEffect(() => {
    if (inUrl !== lane.state.get().threadId) lane.open(inUrl);
  }, [lane, inUrl]);
  useEffect(() => {
    void navigate({ search: (before) => ({ ...before, [param]: threadId }), replace: true, resetScroll: false });
  }, [navigate, param, threadId]);
  useEffect(() => {
    for (const exchange of running) lane.follow(exchange);
  });

  return {
    lane,
    threadId,
    exchanges: shown,
    running: exchanges.some(isRunning),
    stopping: exchanges.some((exchange) => exchange.stopping && isRunning(exchange)),
    /** True while the thread is fetched; exchanges that this page started are shown already. */
    loading: thread.isLoading && exchanges.length === 0,
    error: exchanges.length === 0 ? thread.error : null,
    retry: () => void thread.refetch(),
  };
}

const cancelRun = (agentId: string, runId: string) =>
  api.post("/agents/:agent_id/runs/:run_id/cancel", { params: { agentId, runId } });

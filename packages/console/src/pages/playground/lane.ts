import type { FollowedEvent } from "../../api/stream.ts";
import { followRun, startQuery } from "../../api/stream.ts";
import { createSignal, type Signal } from "../../state/signal.ts";
import { NOTHING_TOLD, tell, type PastExchange, type Told } from "../conversation/exchange.ts";
import type { QueryBody } from "./settings.ts";

/** A query that this page follows. */
export interface LiveExchange {
  key: string;
  query: string;
  role: string;
  /** Undefined until the service has taken it. */
  runId: string | undefined;
  stopping: boolean;
  told: Told;
  /** Why it could not be sent or followed. */
  error: unknown;
}

export interface LaneState {
  /** The thread that the next query goes on with; undefined begins one. */
  threadId: string | undefined;
  exchanges: readonly LiveExchange[];
}

/** One conversation of the playground. */
export interface Lane {
  state: Signal<LaneState>;
  /** Shows another thread, or begins a new one. What runs goes on unseen. */
  open(threadId: string | undefined): void;
  send(body: QueryBody & { query: string; role?: string }): void;
  /** Takes up a run that was begun elsewhere, or before the page was loaded. */
  follow(past: PastExchange): void;
  /** Asks for the end of the runs under way, as soon as they have an id. */
  stop(): void;
  /** Ends following; the runs go on. */
  close(): void;
}

export interface LaneDeps {
  agentId: string;
  cancel: (runId: string) => Promise<unknown>;
  /** For tests. Default: the page's own streams. */
  streams?: { startQuery: typeof startQuery; followRun: typeof followRun };
}

/** Tokens come faster than a page can be drawn: what came within this time is shown together. */
const SHOWN_EVERY_MS = 40;

let lastKey = 0;

export function createLane(
  { agentId, cancel, streams = { startQuery, followRun } }: LaneDeps,
  threadId?: string,
): Lane {
  const state = createSignal<LaneState>({ threadId, exchanges: [] });
  let leaving = new AbortController();

  const change = (key: string, changed: (exchange: LiveExchange) => Partial<LiveExchange>): void => {
    const { exchanges, ...rest } = state.get();
    state.set({ ...rest, exchanges: exchanges.map((one) => (one.key === key ? { ...one, ...changed(one) } : one)) });
  };

  const add = (exchange: Pick<LiveExchange, "query" | "role" | "runId">): string => {
    const key = `asked-${(lastKey += 1)}`;
    const added: LiveExchange = { ...exchange, key, stopping: false, told: NOTHING_TOLD, error: undefined };
    state.set({ ...state.get(), exchanges: [...state.get().exchanges, added] });
    return key;
  };

  async function play(key: string, events: AsyncIterable<FollowedEvent>, signal: AbortSignal, askedAt: number) {
    let came: FollowedEvent[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = (): void => {
      clearTimeout(timer);
      timer = undefined;
      const arrived = came.map((one) => ({ ...one, atMs: Math.max(0, one.receivedAt - askedAt) }));
      came = [];
      if (arrived.length > 0 && !signal.aborted) change(key, ({ told }) => ({ told: arrived.reduce(tell, told) }));
    };
    try {
      for await (const event of events) {
        came.push(event);
        timer ??= setTimeout(show, SHOWN_EVERY_MS);
      }
      show();
    } catch (error) {
      show();
      if (!signal.aborted) change(key, () => ({ error }));
    }
  }

  const end = (runId: string, key: string): void => {
    cancel(runId).catch((error: unknown) => change(key, () => ({ stopping: false, error })));
  };

  const leave = (): void => {
    leaving.abort();
    leaving = new AbortController();
  };

  return {
    state,

    open(next) {
      leave();
      state.set({ threadId: next, exchanges: [] });
    },

    send(body) {
      const { signal } = leaving;
      const key = add({ query: body.query, role: body.role ?? "", runId: undefined });
      const onRun = (runId: string, of: string | undefined): void => {
        if (signal.aborted) return;
        change(key, () => ({ runId }));
        if (of !== undefined) state.set({ ...state.get(), threadId: of });
        if (state.get().exchanges.find((one) => one.key === key)?.stopping) end(runId, key);
      };
      void play(key, streams.startQuery(body, { agentId, signal, onRun }), signal, performance.now());
    },

    follow({ run, query, askedAt }) {
      if (state.get().exchanges.some(({ runId }) => runId === run.runId)) return;
      const { signal } = leaving;
      const key = add({ query, role: run.role ?? "", runId: run.runId });
      const agoMs = Math.max(0, Date.now() - Date.parse(askedAt));
      void play(key, streams.followRun(run.runId, { agentId, signal }), signal, performance.now() - agoMs);
    },

    stop() {
      for (const { key, runId } of state.get().exchanges.filter(isRunning)) {
        change(key, () => ({ stopping: true }));
        if (runId !== undefined) end(runId, key);
      }
    },

    close: leave,
  };
}

export const isRunning = ({ told, error }: LiveExchange): boolean => told.end === undefined && error === undefined;

/** The word for its state. */
export function stateOf({ told: { end }, error }: LiveExchange): string {
  if (end?.ok) return "succeeded";
  if (end) return end.code === "cancelled" ? "cancelled" : "failed";
  return error === undefined ? "running" : "failed";
}

import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../../api/api.ts";
import { useSignal } from "../../state/signal.ts";
import { exchangesOf, type PastExchange } from "../conversation/exchange.ts";
import { threadParts } from "../conversation/thread-parts.ts";
import { createLane, isRunning, type Lane, type LiveExchange } from "./lane.ts";

const route = getRouteApi("/shell/agents/$agentId/playground");

/** An exchange of a conversation: fetched with its thread, or followed by this page. */
export type Shown = { past: PastExchange; live?: undefined } | { live: LiveExchange; past?: undefined };

export interface ShownLane {
  lane: Lane;
  threadId: string | undefined;
  exchanges: Shown[];
  running: boolean;
  stopping: boolean;
  /** While its thread is fetched. */
  loading: boolean;
  error: Error | null;
  retry: () => void;
}

/** A conversation with the thread that the URL names under `param`, which follows where the conversation goes. */
export function useLane(agentId: string, param: "thread" | "thread2"): ShownLane {
  const inUrl = route.useSearch()[param];
  const navigate = route.useNavigate();
  const [lane] = useState(() => createLane({ agentId, cancel: (runId) => cancelRun(agentId, runId) }, inUrl));
  const { threadId, exchanges } = useSignal(lane.state);
  const thread = useInfiniteQuery({ ...threadParts(agentId, threadId ?? ""), enabled: threadId !== undefined });
  const followed = new Set(exchanges.map(({ runId }) => runId));
  const past = thread.data ? exchangesOf(thread.data).filter(({ run }) => !followed.has(run.runId)) : [];
  const running = past.filter(({ run }) => run.finishedAt === null);

  useEffect(() => () => lane.close(), [lane]);
  useEffect(() => {
    if (inUrl !== lane.state.get().threadId) lane.open(inUrl);
  }, [lane, inUrl]);
  useEffect(() => {
    void navigate({ search: (before) => ({ ...before, [param]: threadId }), replace: true, resetScroll: false });
  }, [navigate, param, threadId]);
  useEffect(() => {
    for (const one of running) lane.follow(one);
  });

  return {
    lane,
    threadId,
    exchanges: [...past.map((one) => ({ past: one })), ...exchanges.map((live) => ({ live }))],
    running: exchanges.some(isRunning),
    stopping: exchanges.some((one) => one.stopping && isRunning(one)),
    // A thread that this page began is known already.
    loading: thread.isLoading && exchanges.length === 0,
    error: exchanges.length === 0 ? thread.error : null,
    retry: () => void thread.refetch(),
  };
}

const cancelRun = (agentId: string, runId: string) =>
  api.post("/agents/:agent_id/runs/:run_id/cancel", { params: { agent_id: agentId, run_id: runId } });

export const queryOf = ({ past, live }: Shown): string => (past ?? live).query;
export const runIdOf = ({ past, live }: Shown): string | undefined => (past ? past.run.runId : live.runId);
export const roleOf = ({ past, live }: Shown): string => (past ? past.run.role : live.role) ?? "";

import { useQuery } from "@tanstack/react-query";
import type { RunTrace } from "@patchbay/protocol/console";
import { useEffect, useState } from "react";
import { list, queryClient, resource } from "../../api/api.ts";
import { followRun } from "../../api/stream.ts";
import { isActive } from "../../parts/run/run-facts.ts";
import type { Report } from "../../parts/conversation/exchange.ts";

/** Poll interval when a run's events cannot be followed. */
const POLL_MS = 3_000;

/** What a page knows of a run that it follows, besides its trace. */
export type LiveRun = ReturnType<typeof useRunTrace>["live"];

/** What call handlers reported since the page was opened, by call; before, of detached calls that run, their last report. */
export type Progress = ReadonlyMap<string, readonly Report[]>;

/** Kept reports for each call. */
const MAX_REPORTS = 100;

/** A run with its waterfall, refetched on every stored event until it ends. */
export function useRunTrace(agentId: string, runId: string) {
  /** The streamed part of an unfinished answer. */
  const [partial, setPartial] = useState("");
  const [progress, setProgress] = useState<Progress>(new Map());
  const [polling, setPolling] = useState(false);
  const params = { agentId, runId };
  const options = resource("/agents/:agent_id/runs/:run_id", { params });
  const query = useQuery({
    ...options,
    refetchInterval: ({ state }) => polling && follows(state.data) && POLL_MS,
  });
  const running = query.data !== undefined && isActive(query.data.status);
  const followed = follows(query.data);

  useEffect(() => {
    if (!followed) return undefined;
    const aborter = new AbortController();
    const { signal } = aborter;
    const refetch = oneAtATime(async () => {
      const keys = [options.queryKey, ...DIALECTS.map((dialect) => logOf(agentId, runId, dialect).queryKey)];
      await Promise.all(
        // Cancelling a fetch for each event would starve the page while a run sends many.
        keys.map((queryKey) => queryClient.invalidateQueries({ queryKey, exact: true }, { cancelRefetch: false })),
      );
    });
    void (async () => {
      try {
        for await (const { event, seq, receivedAt } of followRun(runId, { agentId, signal })) {
          if (event.type === "responseDelta") setPartial((before) => before + event.content);
          if (event.type === "deltaReset") setPartial("");
          if (event.type === "toolProgress")
            setProgress((before) => withReport(before, event.toolCallId, { data: event.data, receivedAt }));
          if (seq === undefined) continue;
          // A stored event has the streamed text in full.
          setPartial("");
          refetch();
        }
      } catch {
        if (!signal.aborted) setPolling(true);
      }
      if (!signal.aborted) refetch();
    })();
    return () => aborter.abort();
    // `options` depends only on these ids.
  }, [followed, agentId, runId]);

  const kept = query.data?.spans.filter((span) => span.progress !== undefined && !progress.has(span.id)) ?? [];
  const reports = kept.map((span) => [span.id, [{ data: span.progress, receivedAt: undefined }]] as const);
  return { query, live: { running, partial, progress: new Map([...progress, ...reports]) } };
}

/** A run that waits for a function has progress meanwhile, and continues without a reader's doing. */
const follows = (run: RunTrace | undefined): boolean =>
  run !== undefined && (isActive(run.status) || run.waitsFor.length > 0);

const withReport = (before: Progress, callId: string, report: Report): Progress =>
  new Map(before).set(callId, [...(before.get(callId) ?? []), report].slice(-MAX_REPORTS));

const DIALECTS = ["hosted", "local"] as const;
export type Dialect = (typeof DIALECTS)[number];

/** A run's stored events in the query API's format (`hosted`) or the local API's. */
export const logOf = (agentId: string, runId: string, dialect: Dialect) =>
  list("/agents/:agent_id/runs/:run_id/log", { params: { agentId, runId }, query: { dialect, limit: 100 } });

/** Runs a task without overlaps. A request during a run causes one more run, because the running one may have read too early. */
function oneAtATime(task: () => Promise<void>): () => void {
  let busy = false;
  let again = false;
  const run = async (): Promise<void> => {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      await task().catch(() => undefined);
    } while (again);
    busy = false;
  };
  return () => void run();
}

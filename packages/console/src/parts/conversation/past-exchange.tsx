import type { ConsoleThreadDetail } from "@patchbay/protocol/console";
import { infiniteQueryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, keyOf } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { Button } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Fault, Loading } from "../../ui/page.tsx";
import { Count, Duration, Money, Status } from "../../ui/values.tsx";
import { Answer, NoAnswer, TranscriptView } from "./exchange-view.tsx";
import { type PastExchange, recordedTranscript } from "./exchange.ts";

interface PastAnswerProps {
  past: PastExchange;
  actions?: React.ReactNode;
  /** Shows thoughts and calls from the start. */
  open?: boolean;
  /** Shown on the calls with their ids. */
  remarks?: ReadonlyMap<string, string> | undefined;
}

/** A stored answer; its thoughts and calls are fetched when expanded. */
export function PastAnswer({ past: { run, answer }, actions, open: opened = false, remarks }: PastAnswerProps) {
  const [open, setOpen] = useState(opened && run.finishedAt !== null);
  const log = useQuery({ ...recordedTranscript(run), enabled: open });
  const ended = run.finishedAt !== null;
  return (
    <div className="grid min-w-0 gap-2">
      {ended && (
        <Button
          size="small"
          look="ghost"
          icon={open ? "down" : "right"}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="-ml-2 justify-self-start"
        >
          {run.calls > 0 ? callsInWords(run) : "No function calls"}
        </Button>
      )}
      {open && log.isPending && <Loading block="h-9 rounded-lg" />}
      <Fault error={open ? log.error : undefined} />
      {open && log.data ? (
        <TranscriptView
          transcript={log.data.end ? log.data : { ...log.data, answer: answer ?? "" }}
          remarks={remarks}
        />
      ) : answer === undefined ? (
        ended && <NoAnswer message={run.status === "cancelled" ? "Run cancelled" : "No answer"} code={run.code} />
      ) : (
        <Answer text={answer} />
      )}
      <RunFigures
        agentId={run.agentId}
        runId={run.runId}
        state={run.status}
        role={run.role}
        ms={run.durationMs}
        tokens={run.inputTokens + run.outputTokens}
        costUsd={run.costUsd}
      >
        {actions}
      </RunFigures>
    </div>
  );
}

const PATH = "/agents/:agent_id/threads/:thread_id";

/** A thread for `useInfiniteQuery`: the first page has the latest queries, each further page earlier ones. */
export function threadPages(agentId: string, threadId: string) {
  const params = { agentId, threadId };
  return infiniteQueryOptions({
    queryKey: ["list", ...keyOf(PATH, { params })],
    queryFn: ({ signal, pageParam: cursor }) => api.get(PATH, { params, query: { cursor }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    select: ({ pages }) => joinPages(pages),
  });
}

/** Joins pages to one thread, oldest query first. */
export function joinPages(pages: readonly ConsoleThreadDetail[]): ConsoleThreadDetail | undefined {
  const [newest] = pages;
  const oldestFirst = pages.toReversed();
  return (
    newest && {
      ...newest,
      messages: oldestFirst.flatMap(({ messages }) => messages),
      runs: oldestFirst.flatMap(({ runs }) => runs),
    }
  );
}

interface RunFiguresProps {
  agentId: string;
  runId: string | undefined;
  state: string;
  role?: string | null | undefined;
  ms: number | null;
  tokens: number | null;
  costUsd: number | null;
  /** Buttons at the line's end. */
  children?: React.ReactNode;
}

/** The line below an answer: its run's state and figures, and a link to the run. */
export const RunFigures = ({ agentId, runId, state, role, ms, tokens, costUsd, children }: RunFiguresProps) => (
  <div className="text-muted flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1 text-xs">
    <Status state={state} />
    {role !== undefined && (role === null ? <span>no role</span> : <code className="font-mono">{role}</code>)}
    {ms !== null && <Duration ms={ms} />}
    {tokens !== null && (
      <span className="whitespace-nowrap">
        <Count value={tokens} short /> {tokens === 1 ? "token" : "tokens"}
      </span>
    )}
    {costUsd !== null && costUsd > 0 && <Money usd={costUsd} />}
    <span className="ml-auto flex flex-wrap items-center gap-1">
      {children}
      {runId !== undefined && (
        <Link
          to="/agents/$agentId/runs/$runId"
          params={{ agentId, runId }}
          className="text-muted hover:bg-hover hover:text-text inline-flex h-7 items-center gap-1.5 rounded-md px-2 text-xs font-medium"
        >
          <Icon name="run" className="size-3.5" />
          Waterfall
        </Link>
      )}
    </span>
  </div>
);

/** For example "2 function calls, 1 denied". */
function callsInWords({ calls, deniedCalls, failedCalls }: Record<"calls" | "deniedCalls" | "failedCalls", number>) {
  const parts = [
    countOf(calls, "function call"),
    deniedCalls > 0 && `${deniedCalls} denied`,
    failedCalls > 0 && `${failedCalls} failed`,
  ];
  return parts.filter(Boolean).join(", ");
}

import type { Change } from "@patchbay/protocol/console";
import { focusManager, type QueryClient } from "@tanstack/react-query";
import { pathOfKey } from "./api.ts";
import type { PathOf } from "./routes.ts";

type Topic = Change["topics"][number];

/** The paths to refetch when a topic changes. */
const PATHS: Record<Topic, PathOf<"GET">[]> = {
  agents: ["/agents", "/agents/:agent_id", "/organisation"],
  runtimes: [
    "/agents",
    "/agents/:agent_id",
    "/agents/:agent_id/runtimes",
    "/agents/:agent_id/functions",
    "/agents/:agent_id/function-sets",
    "/agents/:agent_id/access",
    "/agents/:agent_id/access/services",
    "/agents/:agent_id/access/widenings",
  ],
  runs: [
    "/agents",
    "/agents/:agent_id",
    "/agents/:agent_id/runs",
    "/agents/:agent_id/runs/:run_id",
    "/agents/:agent_id/functions",
    "/agents/:agent_id/functions/:function_name/history",
    "/agents/:agent_id/threads",
    "/agents/:agent_id/threads/:thread_id",
    "/agents/:agent_id/sessions",
    "/agents/:agent_id/analytics",
    "/analytics",
  ],
  credentials: ["/agents/:agent_id/credentials", "/audit"],
  credits: ["/credits", "/credits/ledger", "/organisation"],
  members: ["/members", "/links", "/session", "/organisation", "/audit"],
};

/** `meta` of queries about a past time range, which new events do not change. */
export const PAST = { past: true };

/** A busy organisation changes many times a second; refetch at most this often. */
const PAUSE_MS = 1_500;
/** Browsers reconnect a broken EventSource, but not after a response that is not a stream, such as a proxy's 502 while the control plane starts. */
const REOPEN_MS = 10_000;

/**
 * Refetches the queries on the page when the control plane reports a change, until the returned function is called. A hidden page
 * closes its connection and refetches everything when it is shown again.
 */
export function followChanges(queries: QueryClient): () => void {
  let source: EventSource | undefined;
  let opened = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  const topics = new Set<Topic>();

  const refetch = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const paths = new Set<unknown>([...topics].flatMap((topic) => PATHS[topic] ?? []));
    topics.clear();
    void queries.invalidateQueries({
      predicate: ({ queryKey, meta }) => paths.has(pathOfKey(queryKey)) && meta?.["past"] !== true,
    });
  };
  const onMessage = ({ data }: MessageEvent<string>): void => {
    for (const topic of (JSON.parse(data) as Change).topics) topics.add(topic);
    timer ??= setTimeout(refetch, PAUSE_MS);
  };
  const onOpen = (): void => {
    // Changes during a disconnection were not reported: refetch every topic.
    if (opened) {
      for (const topic of Object.keys(PATHS) as Topic[]) topics.add(topic);
      refetch();
    }
    opened = true;
  };
  const onError = (): void => {
    if (source?.readyState !== EventSource.CLOSED) return;
    clearTimeout(reopening);
    reopening = setTimeout(connect, REOPEN_MS);
  };
  const connect = (): void => {
    if (focusManager.isFocused()) {
      if (source && source.readyState !== EventSource.CLOSED) return;
      source = new EventSource("/api/live");
      source.addEventListener("open", onOpen);
      source.addEventListener("change", onMessage);
      source.addEventListener("error", onError);
    } else {
      source?.close();
      source = undefined;
    }
  };

  connect();
  const unsubscribe = focusManager.subscribe(connect);
  return () => {
    unsubscribe();
    source?.close();
    clearTimeout(timer);
    clearTimeout(reopening);
  };
}

import type { Change } from "@patchbay/protocol/console";
import { focusManager, type QueryClient } from "@tanstack/react-query";
import { PREFIX } from "../state/prefix.ts";
import { createSignal } from "../state/signals.ts";
import { pathOfKey, sessionQuery } from "./api.ts";
import { refetchChanged } from "./refresh-list.ts";
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
    "/agents/:agent_id/functions/:function_name/cases",
    "/agents/:agent_id/function-sets",
    "/agents/:agent_id/access",
    "/agents/:agent_id/access/changes",
    "/agents/:agent_id/access/locks",
    "/agents/:agent_id/access/model-view",
    "/agents/:agent_id/access/use",
    "/agents/:agent_id/access/services",
    "/agents/:agent_id/access/widenings",
  ],
  runs: [
    "/agents",
    "/agents/:agent_id",
    "/agents/:agent_id/runs",
    "/agents/:agent_id/run-totals",
    "/agents/:agent_id/runs/:run_id",
    "/agents/:agent_id/runs/:run_id/turns/:step/request",
    "/approvals",
    "/agents/:agent_id/access/shadow",
    "/agents/:agent_id/webhook/deliveries",
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

/** Query `meta` for past time ranges, which new events do not change. */
export const PAST = { past: true };

/** A busy organisation changes many times a second; refetch at most this often. */
const PAUSE_MS = 1_500;
/** Pauses before the live feed is opened again, in milliseconds; the last one repeats. */
const REOPEN_MS = [500, 1_000, 2_000, 4_000, 8_000];

/** When the live feed broke, in milliseconds since 1970: what the page shows may be older than later changes. Undefined while the feed works. */
export const staleSince = createSignal<number | undefined>(undefined);

/** Opens the live feed now instead of after its pause. Replaced while `followChanges` runs. */
let openNow = (): void => undefined;
export const reconnectNow = (): void => openNow();

/**
 * Refetches the page's queries when the control plane reports a change, until the returned function is called. A hidden
 * page closes its connection. When the feed opens again, it refetches the queries of all topics and those that failed.
 */
export function followChanges(queries: QueryClient): () => void {
  let source: EventSource | undefined;
  /** The last moment at which all changes were known. */
  let currentAt: number | undefined;
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let reopening: ReturnType<typeof setTimeout> | undefined;
  const topics = new Set<Topic>();

  const refetch = ({ failed = false } = {}): void => {
    clearTimeout(timer);
    timer = undefined;
    const paths = new Set<unknown>([...topics].flatMap((topic) => PATHS[topic] ?? []));
    topics.clear();
    refetchChanged(
      queries,
      ({ queryKey, meta, state }) =>
        (paths.has(pathOfKey(queryKey)) && meta?.["past"] !== true) || (failed && state.status === "error"),
    );
  };
  const onMessage = ({ data }: MessageEvent<string>): void => {
    for (const topic of (JSON.parse(data) as Change).topics) topics.add(topic);
    timer ??= setTimeout(() => refetch(), PAUSE_MS);
  };
  const onOpen = (): void => {
    failures = 0;
    // Changes during a disconnection were not reported.
    if (currentAt !== undefined) {
      for (const topic of Object.keys(PATHS) as Topic[]) topics.add(topic);
      refetch({ failed: true });
    }
    currentAt = undefined;
    staleSince.set(undefined);
  };
  const close = (): void => {
    clearTimeout(reopening);
    currentAt ??= Date.now();
    source?.close();
    source = undefined;
  };
  // Browsers reconnect after a broken connection, but not after a response that is not a stream, such as a proxy's 502.
  const onError = (): void => {
    const ended = source?.readyState === EventSource.CLOSED;
    close();
    staleSince.set(currentAt);
    // The response may have been a 401: the client then opens the sign-in page.
    if (ended) void queries.invalidateQueries({ queryKey: sessionQuery().queryKey });
    reopening = setTimeout(connect, REOPEN_MS[Math.min(failures, REOPEN_MS.length - 1)]);
    failures += 1;
  };
  const connect = (): void => {
    clearTimeout(reopening);
    if (source !== undefined || !focusManager.isFocused()) return;
    source = new EventSource(`${PREFIX}/api/live`);
    source.addEventListener("open", onOpen);
    source.addEventListener("change", onMessage);
    source.addEventListener("error", onError);
  };

  connect();
  openNow = connect;
  const unsubscribe = focusManager.subscribe((focused) => (focused ? connect() : close()));
  addEventListener("offline", onError);
  addEventListener("online", connect);
  return () => {
    unsubscribe();
    removeEventListener("offline", onError);
    removeEventListener("online", connect);
    source?.close();
    clearTimeout(timer);
    clearTimeout(reopening);
    staleSince.set(undefined);
    openNow = () => undefined;
  };
}

import { useQuery } from "@tanstack/react-query";
import { useSession } from "../../state/session.ts";
import { Skeleton, ErrorState, Loading, EmptyState } from "../../ui/states.tsx";
import { Snippets } from "../../ui/snippet.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { recorded } from "../conversation/recorded.ts";
import { EventList } from "./event-list.tsx";
import { SettingsForm } from "./settings-form.tsx";
import { bodyOf, type Faults, type Settings } from "./settings.ts";
import { queryOf, roleOf, type Shown } from "./use-lane.ts";

export type PanelTab = "settings" | "events" | "code";

interface SidePanelProps {
  agentId: string;
  tab: PanelTab;
  onTab: (tab: PanelTab) => void;
  settings: Settings;
  faults: Faults;
  onChange: (changed: Partial<Settings>) => void;
  /** The exchange whose events are shown. */
  shown: Shown | undefined;
  /** What the snippets ask. */
  query: string;
  threadId: string | undefined;
}

/** Beside the conversation: what queries are sent with, the events that came, and the same query as code. */
export function SidePanel({ agentId, tab, onTab, settings, faults, onChange, shown, query, threadId }: SidePanelProps) {
  return (
    <Tabs<PanelTab>
      value={tab}
      onChange={onTab}
      tabs={[
        {
          value: "settings",
          label: "Settings",
          content: <SettingsForm settings={settings} faults={faults} onChange={onChange} />,
        },
        { value: "events", label: "Events", content: <Events shown={shown} /> },
        {
          value: "code",
          label: "Code",
          content: <Code agentId={agentId} settings={settings} faults={faults} query={query} threadId={threadId} />,
        },
      ]}
    />
  );
}

function Events({ shown }: { shown: Shown | undefined }) {
  if (!shown)
    return (
      <EmptyState icon="thread" title="No events yet">
        Every event of an answer shows here as it is sent, with its time.
      </EmptyState>
    );
  return (
    <div className="grid min-w-0 gap-2">
      <p className="line-clamp-2 text-sm">
        <span className="font-medium">{queryOf(shown)}</span>
        <span className="text-muted"> {roleOf(shown) === "" ? "without a role" : `as ${roleOf(shown)}`}</span>
      </p>
      {shown.past ? <PastEvents past={shown.past} /> : <EventList entries={shown.live.told.entries} />}
    </div>
  );
}

function PastEvents({ past }: { past: NonNullable<Shown["past"]> }) {
  const log = useQuery(recorded(past.run));
  if (log.error) return <ErrorState error={log.error} onRetry={() => void log.refetch()} />;
  if (!log.data)
    return (
      <Loading label="Loading events">
        <div className="grid gap-2">
          <Skeleton className="h-6" />
          <Skeleton className="h-6" />
          <Skeleton className="h-6" />
        </div>
      </Loading>
    );
  return <EventList entries={log.data.entries} />;
}

function Code({
  agentId,
  settings,
  faults,
  query,
  threadId,
}: Pick<SidePanelProps, "agentId" | "settings" | "faults" | "query" | "threadId">) {
  const { baseUrl } = useSession();
  if (Object.keys(faults).length > 0)
    return (
      <EmptyState icon="alert" title="Some settings are wrong">
        The code shows here once they are right.
      </EmptyState>
    );
  const body = bodyOf(settings, { query: query.trim() || "Which orders are late?", role: settings.role, threadId });
  return (
    <div className="grid gap-3">
      <Snippets baseUrl={baseUrl} agentId={agentId} body={body} />
      <p className="text-muted text-xs">
        The same query by an API key of this agent, read from the environment. A run may take minutes: let proxies wait
        300 s. Add <code className="font-mono">"includeDeltas": true</code> to get the answer token by token.
      </p>
    </div>
  );
}

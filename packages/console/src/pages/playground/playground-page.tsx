import type { RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { resource } from "../../api/queries.ts";
import { PageSkeleton } from "../../shell/page-skeleton.tsx";
import { useMay } from "../../state/session.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Drawer } from "../../ui/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { EmptyState, ErrorState, Loading, Skeleton } from "../../ui/states.tsx";
import { useMedia } from "../../ui/use-media.ts";
import { Announcer } from "./announcer.tsx";
import { Composer } from "./composer.tsx";
import { BLANK } from "./example-questions.ts";
import { Rounds } from "./rounds.tsx";
import { bodyOf, faultsOf, settingsOfRun, type Settings } from "./settings.ts";
import { SidePanel, type PanelTab } from "./side-panel.tsx";
import { NoRuntime, Start } from "./start.tsx";
import { useFollowEnd } from "./use-follow-end.ts";
import { queryOf, runIdOf, useLane, type ShownLane } from "./use-lane.ts";
import { useSettings } from "./use-settings.ts";

const route = getRouteApi("/shell/agents/$agentId/playground");

/** Asks the agent as any role, and shows every step of the answer; as two roles side by side where they are compared. */
export function PlaygroundPage() {
  const { agentId } = route.useParams();
  const { again } = route.useSearch();
  const run = useQuery({
    ...resource("/agents/:agent_id/runs/:run_id", { params: { agent_id: agentId, run_id: again ?? "" } }),
    enabled: again !== undefined,
  });
  if (again === undefined || run.data) return <Playground asked={run.data} />;
  if (run.error === null) return <PageSkeleton />;
  return (
    <>
      <PageHeader title="Playground" />
      <ErrorState error={run.error} onRetry={() => void run.refetch()} />
    </>
  );
}

/** Begins as `asked` was asked. */
function Playground({ asked }: { asked: RunTrace | undefined }) {
  const { agentId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayAsk = useMay("developer");
  const [settings, change] = useSettings(asked && settingsOfRun(asked));
  const [draft, setDraft] = useState(search.query ?? asked?.fullQuery ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const functions = useQuery(resource("/agents/:agent_id/functions", { params: { agent_id: agentId } }));
  const a = useLane(agentId, "thread");
  const b = useLane(agentId, "thread2");
  const { compare } = settings;
  const lanes = compare ? [a, b] : [a];
  const faults = faultsOf(settings);
  const running = lanes.some((lane) => lane.running);
  const begun = lanes.some(({ exchanges }) => exchanges.length > 0);
  const wide = useMedia(compare ? "(min-width: 1536px)" : "(min-width: 1280px)");
  const follow = useFollowEnd<HTMLDivElement>(running);

  const everything = lanes.flatMap(({ exchanges }) => exchanges);
  const selected = everything.find((one) => search.run !== undefined && runIdOf(one) === search.run);
  const shown = selected ?? a.exchanges.at(-1);
  const tab = search.tab ?? (begun ? "events" : "settings");
  const setTab = (next: PanelTab | undefined, run?: string) =>
    void navigate({
      search: (before) => ({ ...before, tab: next, run: run ?? before.run }),
      replace: true,
      resetScroll: false,
    });

  const beginAnew = (): void => {
    a.lane.open(undefined);
    b.lane.open(undefined);
    field.current?.focus();
  };

  const ask = (query: string, where: "new" | "same" = "same"): void => {
    if (where === "new") beginAnew();
    const roles = [settings.role, settings.role2];
    lanes.forEach(({ lane }, index) => {
      const { threadId } = lane.state.get();
      lane.send(bodyOf(settings, { query: query.trim(), role: roles[index] ?? "", threadId }));
    });
    void navigate({
      search: (before) => ({ ...before, query: undefined, run: undefined, again: undefined }),
      replace: true,
      resetScroll: false,
    });
  };

  const changeSettings = (changed: Partial<Settings>): void => {
    // Two roles are compared fairly where neither has a past.
    if (changed.compare !== undefined && changed.compare !== compare) beginAnew();
    change(changed);
  };

  const pick = (question: string): void => {
    setDraft(question);
    requestAnimationFrame(() => selectBlank(field.current));
  };

  const panel = (
    <SidePanel
      agentId={agentId}
      tab={tab}
      onTab={setTab}
      settings={settings}
      faults={faults}
      onChange={changeSettings}
      shown={shown}
      query={draft || (shown ? queryOf(shown) : "")}
      threadId={a.threadId}
    />
  );
  const disconnected = functions.data?.connected === false || functions.error !== null;
  return (
    <>
      <PageHeader
        title="Playground"
        actions={
          <>
            {a.threadId !== undefined && !compare && (
              <Link
                to="/agents/$agentId/threads/$threadId"
                params={{ agentId, threadId: a.threadId }}
                className={buttonClass("ghost")}
              >
                <Icon name="thread" className="size-3.5" />
                Open thread
              </Link>
            )}
            {begun && (
              <Button icon="plus" onClick={beginAnew}>
                {compare ? "New threads" : "New thread"}
              </Button>
            )}
            {!wide && (
              <Button icon="settings" onClick={() => setTab(tab)}>
                Settings<span className="max-sm:sr-only"> and events</span>
              </Button>
            )}
          </>
        }
      />
      {disconnected && <NoRuntime agentId={agentId} />}
      <div className={classNames("grid min-w-0 items-start gap-6", wide && "grid-cols-[minmax(0,1fr)_24rem]")}>
        <div className="flex -mb-5 min-h-[calc(100dvh-8.5rem)] sm:-mb-6 min-w-0 flex-col">
          <div ref={follow} className="min-w-0 flex-1 pb-6">
            <Conversation lanes={lanes} onNew={beginAnew}>
              {begun ? (
                <Rounds
                  agentId={agentId}
                  lanes={lanes.map(({ exchanges }) => exchanges)}
                  roles={[settings.role, settings.role2]}
                  running={running}
                  selected={wide && tab === "events" && shown ? runIdOf(shown) : undefined}
                  onSelect={(runId) => setTab("events", runId)}
                  onAsk={mayAsk ? ask : undefined}
                />
              ) : (
                <Start set={functions.data} role={settings.role} onPick={mayAsk ? pick : undefined} />
              )}
            </Conversation>
          </div>
          <div className="bg-page sticky bottom-0 z-10 -mx-1 px-1 pb-4">
            {mayAsk ? (
              <Composer
                draft={draft}
                onDraft={setDraft}
                settings={settings}
                faults={faults}
                onChange={changeSettings}
                roles={functions.data?.roles ?? []}
                defaultRole={functions.data?.defaultRole ?? null}
                running={running}
                stopping={lanes.some((lane) => lane.stopping)}
                onSend={() => {
                  ask(draft);
                  setDraft("");
                }}
                onStop={() => lanes.forEach(({ lane }) => lane.stop())}
                onShowSettings={() => setTab("settings")}
                fieldRef={field}
              />
            ) : (
              <p className="border-line bg-surface text-muted rounded-xl border px-4 py-3 text-sm">
                Viewers read what was asked. To send queries, ask an owner for the developer role.
              </p>
            )}
          </div>
        </div>
        {wide ? (
          <Card className="sticky top-17 flex max-h-[calc(100dvh-5.5rem)] min-h-0 flex-col overflow-y-auto">
            {panel}
          </Card>
        ) : (
          <Drawer open={search.tab !== undefined} onClose={() => setTab(undefined)} title="Settings and events">
            {panel}
          </Drawer>
        )}
      </div>
      <Announcer shown={lanes.map(({ exchanges }) => exchanges.at(-1))} />
    </>
  );
}

/** What stands instead of a conversation while it is fetched, or where it is not there. */
function Conversation({
  lanes,
  onNew,
  children,
}: {
  lanes: readonly ShownLane[];
  onNew: () => void;
  children: React.ReactNode;
}) {
  const broken = lanes.find(({ error }) => error !== null);
  if (broken?.error && "code" in broken.error && broken.error.code === "not_found")
    return (
      <EmptyState
        icon="thread"
        title="That thread is gone"
        action={<Button onClick={onNew}>Begin a new thread</Button>}
      >
        It was erased, or never was one of this agent.
      </EmptyState>
    );
  if (broken) return <ErrorState error={broken.error} onRetry={broken.retry} />;
  if (lanes.some(({ loading }) => loading))
    return (
      <Loading label="Loading the thread">
        <div className="grid gap-4">
          <Skeleton className="ml-auto h-10 w-1/2 rounded-lg" />
          <Skeleton className="h-28 w-full rounded-lg" />
        </div>
      </Loading>
    );
  return children;
}

/** Chooses the first place to fill in, or puts the caret at the end. */
function selectBlank(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  const at = field.value.indexOf(BLANK);
  field.focus();
  if (at === -1) field.setSelectionRange(field.value.length, field.value.length);
  else field.setSelectionRange(at, at + BLANK.length);
}

import type { RunTrace, Span } from "@patchbay/protocol/console";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactNode, useCallback, useState } from "react";
import { countOf } from "../../format/numbers.ts";
import { toFunction, toPage } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { IconButton, TextLink } from "../../ui/button.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useMedia } from "../../ui/measure.ts";
import { Card, Facts, PageSkeleton, Section } from "../../ui/page.tsx";
import { panelWidth, Resizable } from "../../ui/resizable.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Kbd, Status, useRunClock } from "../../ui/values.tsx";
import { KIND_ICONS, nameOf, stateOf } from "../../parts/waterfall/span-look.ts";
import { Waterfall } from "../../parts/waterfall/waterfall.tsx";
import { FailedQuery } from "../../ui/error-pages.tsx";
import { EventLog } from "./event-log.tsx";
import { RunAnswer, RunNotices, RunRequest } from "./run-answer.tsx";
import { type FeedbackDraft, RunFeedback } from "./run-feedback.tsx";
import { RunFigures, RunHeader } from "./run-header.tsx";
import { isCall } from "../../parts/run/run-facts.ts";
import { MODEL_SETTINGS } from "./model-settings.tsx";
import { SpanPanel } from "./span-panel.tsx";
import { type LiveRun, useRunTrace } from "./use-run-trace.ts";

const route = getRouteApi("/shell/agents/$agentId/runs/$runId");

/** One run: its query and answer, its waterfall, settings and events. */
export function RunPage() {
  const { agentId, runId } = route.useParams();
  const { query, live } = useRunTrace(agentId, runId);
  const { data: run, error } = query;
  if (run === undefined)
    return error === null ? <PageSkeleton /> : <FailedQuery title="Run" query={query} items="runs" />;
  return <Run run={run} live={live} knownAt={query.dataUpdatedAt} />;
}

function Run({ run, live, knownAt }: { run: RunTrace; live: LiveRun; knownAt: number }) {
  const search = route.useSearch();
  const changeView = useSearchChange(route, { toTop: true });
  const nowMs = useRunClock({ running: live.running, knownMs: run.durationMs, knownAt });
  const [draft, setDraft] = useState<FeedbackDraft>();
  const count = run.feedback.length === 0 ? "" : ` (${run.feedback.length})`;
  const view = (["events", "feedback"] as const).find((name) => name === search.view) ?? "waterfall";
  return (
    <>
      <RunHeader run={run} />
      <RunNotices run={run} />
      <RunFigures run={run} nowMs={nowMs} />
      <Tabs
        value={view}
        onChange={(view) => changeView({ view })}
        tabs={[
          { value: "waterfall", label: "Waterfall", content: <WaterfallView run={run} live={live} nowMs={nowMs} /> },
          { value: "events", label: "Events", content: <EventLog run={run} /> },
          {
            value: "feedback",
            label: `Feedback${count}`,
            content: <RunFeedback {...{ run, draft }} onDraft={setDraft} />,
          },
        ]}
      />
    </>
  );
}

const spanWidth = panelWidth("span", 36);

function WaterfallView({ run, live, nowMs }: { run: RunTrace; live: LiveRun; nowMs: number }) {
  const { running, progress } = live;
  const { span: selected } = route.useSearch();
  const navigate = route.useNavigate();
  const wide = useMedia("(width >= 1100px)");
  const span = run.spans.find(({ id }) => id === selected);
  const select = useCallback(
    (id: string | undefined) =>
      void navigate({ search: (before) => ({ ...before, span: id }), replace: true, resetScroll: false }),
    [navigate],
  );
  const panel = span && (
    <SpanPanel key={span.id} run={run} span={span} nowMs={nowMs} progress={progress.get(span.id) ?? []} />
  );
  const title = span && <SpanTitle span={span} state={stateOf(span, run.status === "waiting")} />;
  return (
    <>
      <Resizable
        width={spanWidth}
        panel={
          wide &&
          span && (
            <Card
              className="sticky top-16 max-h-[calc(100dvh-5rem)] overflow-y-auto"
              title={title}
              actions={
                <IconButton
                  icon="close"
                  label="Close"
                  keys={<Kbd keys="Esc" />}
                  size="small"
                  className="-mr-1.5"
                  onClick={() => select(undefined)}
                />
              }
            >
              {panel}
            </Card>
          )
        }
      >
        <Card flush>
          <Waterfall
            spans={run.spans}
            running={running}
            waiting={run.status === "waiting"}
            nowMs={nowMs}
            progress={progress}
            selected={span?.id}
            onSelect={select}
            follow={wide}
          />
        </Card>
      </Resizable>
      {!wide && (
        <Drawer open={span !== undefined} onClose={() => select(undefined)} title={title} wide>
          {panel}
        </Drawer>
      )}
      <div className="mt-4 grid items-start gap-4 min-[1100px]:grid-cols-[minmax(0,1fr)_minmax(20rem,36%)]">
        <RunAnswer run={run} live={live} />
        <div className="grid min-w-0 gap-4">
          <RunRequest run={run} />
          {!isCall(run.source) && <RunSettings run={run} />}
          <RunFunctions run={run} />
        </div>
      </div>
    </>
  );
}

const SpanTitle = ({ span, state }: { span: Span; state: string }) => (
  <span className="flex min-w-0 items-center gap-2">
    <Icon name={KIND_ICONS[span.kind]} className="text-muted" />
    <span className="truncate">{nameOf(span)}</span>
    <Status state={state} />
  </span>
);

/** The functions that the run's role could see, and the hidden ones. */
function RunFunctions({ run }: { run: RunTrace }) {
  const { visible, hidden, role, agentId } = run;
  const caller = role === null ? "queries without a role see" : `role “${role}” sees`;
  return (
    <Card
      title="Visible functions"
      description={
        visible.length + hidden.length === 0
          ? "Function set unknown: the run ended before a runtime was found, or the set was deleted"
          : `Of ${countOf(visible.length + hidden.length, "function")}, ${caller} ${visible.length}`
      }
      actions={
        <TextLink {...toPage(agentId, "access")} className="text-sm">
          Open access matrix
        </TextLink>
      }
      stacked
    >
      <Names run={run} />
      <Names run={run} hidden />
    </Card>
  );
}

/** The visible functions, or the hidden ones. */
function Names({ run, hidden = false }: { run: RunTrace; hidden?: boolean }) {
  const names = hidden ? run.hidden : run.visible;
  const called = new Set(run.spans.filter(({ kind }) => kind === "call").map(({ name }) => name));
  return (
    <Section small title={`${hidden ? "Hidden" : "Visible"} (${names.length})`}>
      {names.length === 0 ? (
        <p className="text-faint text-sm">{hidden ? "None" : "None: the model answered without functions"}</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5">
          {names.map((name) => (
            <li key={name} className="min-w-0">
              <Link
                {...toFunction(run.agentId, name)}
                className={`inline-flex h-6 max-w-full items-center gap-1 rounded border px-1.5 font-mono text-xs ${
                  hidden ? "border-line text-muted border-dashed" : "border-line bg-sunken text-text hover:bg-hover"
                }`}
              >
                {hidden && <Icon name="denied" className="text-faint size-3" />}
                {called.has(name) && !hidden && <Icon name="check" className="text-ok size-3" />}
                <span className="truncate">{name}</span>
                {called.has(name) && <span className="sr-only"> (called)</span>}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** The run's model settings, fixed at its start from the query, the agent and the defaults. */
const RunSettings = ({ run }: { run: RunTrace }) => (
  <Card title="Model settings" description="From the query, the agent and the defaults at the run's start">
    <Facts
      items={[
        ["Provider", run.provider || "none"],
        ["Model", <code className="font-mono text-xs break-all">{run.model || "none"}</code>],
        ...MODEL_SETTINGS.map(({ name, show }): [string, ReactNode] => [name, show(run)]),
      ]}
    />
  </Card>
);

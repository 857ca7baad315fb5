import type { RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useAction } from "../../api/action.ts";
import { resource } from "../../api/api.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { focusOnArrival } from "../../ui/focus.ts";
import { showError } from "../../ui/toast.tsx";
import { useAskFirst } from "../../parts/run/ask-first.tsx";
import { useLane } from "./lane.ts";
import {
  memberBodyOf,
  type PlaygroundSearch,
  type Settings,
  settingsOfLane,
  settingsOfRun,
  useSettings,
  validateSettings,
} from "../../parts/playground/settings.ts";

const route = getRouteApi("/shell/agents/$agentId/playground");

/** A query to send. */
export interface SendOptions {
  query: string;
  /** A new thread, or by default the one that is shown. */
  where?: "new" | "same";
  /** The runs that it repeats. */
  again?: readonly string[];
  /** Called before it is sent, unless the member decides not to. */
  onSend: () => void;
}

/** A query to start with, and the settings that it changes. */
export interface Example {
  query: string;
  settings: Partial<Settings>;
}

/** The placeholder in an example for what the member fills in. */
export const BLANK = "…";

export type PlaygroundState = ReturnType<typeof usePlayground>;

/** The playground's state: settings, the draft query, one conversation or two, and the selected run. */
export function usePlayground(opened: RunTrace | undefined) {
  // The URL drops the run once a setting changes.
  const [repeated] = useState(opened);
  const { agentId } = route.useParams();
  const functions = useQuery(resource("/agents/:agent_id/functions", { params: { agentId } }));
  const search = route.useSearch();
  const changeSearch = useSearchChange(route);
  const [settings, change] = useSettings(repeated && settingsOfRun(repeated));
  const [draft, setDraft] = useState(search.query ?? repeated?.fullQuery ?? "");
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // After PageHeader, which takes the focus on arrival. A touch screen would open its keyboard.
    if (matchMedia("(pointer: fine)").matches) focusOnArrival(fieldRef.current);
  }, []);
  const first = useLane(agentId, "thread");
  const second = useLane(agentId, "thread2");
  const lanes = settings.compare ? [first, second] : [first];
  const selected = lanes
    .flatMap(({ exchanges }) => exchanges)
    .find(({ runId }) => search.run !== undefined && runId === search.run);
  const started = lanes.some(({ exchanges }) => exchanges.length > 0);

  const startThreads = (): void => {
    first.lane.open(undefined);
    second.lane.open(undefined);
    fieldRef.current?.focus();
  };
  const { askFirst, dialog } = useAskFirst(agentId);
  const { mutate: send } = useAction({
    async mutationFn({ query, where = "same", again = [], onSend }: SendOptions) {
      if (!(await askFirst(again))) return;
      onSend();
      if (where === "new") startThreads();
      const sent = lanes.map(({ lane }, index) => {
        const { threadId } = lane.state.get();
        const own = settingsOfLane(settings, index);
        return lane.send(memberBodyOf(own, { query: query.trim(), role: own.role, threadId }), own.role);
      });
      changeSearch({ query: undefined, run: undefined, again: undefined });
      await Promise.all(sent);
    },
    onError: (error) => showError("Couldn't send the query", error),
  });
  return {
    agentId,
    functions,
    /** The run that was opened here. */
    repeated,
    settings,
    errors: validateSettings(settings),
    changeSettings(changed: Partial<Settings>): void {
      // A comparison between two roles needs two threads without earlier messages.
      if (changed.compare !== undefined && changed.compare !== settings.compare) startThreads();
      change(changed);
    },
    draft,
    setDraft,
    fieldRef,
    /** Puts an example into the field, with its first blank selected, and applies its settings. */
    pickExample({ query, settings: ofExample }: Example): void {
      setDraft(query);
      change(ofExample);
      requestAnimationFrame(() => selectBlank(fieldRef.current));
    },
    lanes,
    started,
    running: lanes.some((lane) => lane.running),
    stopping: lanes.some((lane) => lane.stopping),
    threadId: first.threadId,
    startThreads,
    send,
    sendDraft: () =>
      send({ query: draft, again: repeated && !started ? [repeated.runId] : [], onSend: () => setDraft("") }),
    /** Asks before a query is sent again whose calls wrote or destroyed. */
    dialog,
    stop: () => lanes.forEach(({ lane }) => lane.stop()),
    /** The exchange whose events are shown. */
    shown: selected ?? first.exchanges.at(-1),
    tab: search.tab ?? (started ? ("events" as const) : ("settings" as const)),
    panelOpen: search.tab !== undefined,
    openTab: (tab: PlaygroundSearch["tab"], run?: string) => changeSearch({ tab, run: run ?? search.run }),
  };
}

/** Selects an example's first blank, or puts the caret at the end. */
function selectBlank(field: HTMLTextAreaElement | null): void {
  if (!field) return;
  const at = field.value.indexOf(BLANK);
  field.focus();
  if (at === -1) field.setSelectionRange(field.value.length, field.value.length);
  else field.setSelectionRange(at, at + BLANK.length);
}

const NEAR_PX = 120;

const atEnd = (): boolean => document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_PX;

/** Markdown renders and code loads for a moment after the last change. */
const SETTLING_MS = 800;

/**
 * Keeps the page's end in view while `growing`, unless the member scrolled away. Attach the ref to the growing element.
 */
export function useFollowEnd<T extends HTMLElement>(growing: boolean) {
  const ref = useRef<T>(null);
  useEffect(() => {
    const element = ref.current;
    if (!growing || !element) return undefined;
    let following = true;
    const onScroll = (): void => {
      following = atEnd();
    };
    const observer = new ResizeObserver(() => {
      if (following) window.scrollTo({ top: document.documentElement.scrollHeight });
    });
    const stop = (): void => {
      observer.disconnect();
      window.removeEventListener("scroll", onScroll);
    };
    observer.observe(element);
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => void setTimeout(stop, SETTLING_MS);
  }, [growing]);
  return ref;
}

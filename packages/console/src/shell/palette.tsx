import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import type { Agent, ConsoleRole, Found } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useDeferredValue } from "react";
import { list, resource, useHasRole } from "../api/api.ts";
import { formatRelative } from "../format/times.ts";
import { runs as searchOfRuns } from "../state/page-search.ts";
import { zone } from "../state/signals.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Kbd } from "../ui/values.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES, type Page, useCarriedRange, useCurrentAgent } from "./navigation.ts";

interface PaletteProps {
  /** Can hold text before the first render: what the member typed while the palette's code loaded. */
  typed: string;
  onTyped: (typed: string) => void;
  onClose: () => void;
}

/** Something that the palette opens. */
interface Entry {
  /** Unique in the palette. */
  key: string;
  label: string;
  icon: IconName;
  hint?: ReactNode;
  /** The lowest role that may choose it. Others see it disabled, with that role. Default: viewer. */
  needs?: ConsoleRole;
  open: () => Promise<void>;
}

interface Group {
  /** Unique in the palette; an agent's name can be another group's heading. */
  key: string;
  heading: string;
  items: Entry[];
}

/** Searches the pages, and the whole organisation by name or ID, and opens the chosen result. */
export function Palette({ typed, onTyped, onClose }: PaletteProps) {
  const { groups, searching, error } = useGroups(typed.trim());
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fades bg-veil fixed inset-0 z-40" />
        <Dialog.Popup className="rises border-line bg-raised shadow-raised fixed inset-x-3 top-[12vh] z-40 mx-auto max-w-xl overflow-hidden rounded-xl border outline-none">
          <Dialog.Title className="sr-only">Search</Dialog.Title>
          <Autocomplete.Root
            open
            inline
            autoHighlight="always"
            keepHighlight
            items={groups}
            filter={null}
            itemToStringValue={({ label }: Entry) => label}
            value={typed}
            onValueChange={(value, { reason }) => reason !== "item-press" && onTyped(value)}
          >
            <div className="border-line flex items-center gap-2.5 border-b px-4">
              <Icon name="search" className="text-faint" />
              <Autocomplete.Input
                aria-label="Search pages and the whole organisation"
                // The dialog selects the text in its first field, which the next key would replace.
                onFocus={({ currentTarget: field }) => field.setSelectionRange(field.value.length, field.value.length)}
                placeholder="Search by name, text or ID"
                spellCheck={false}
                className="h-12 w-full bg-transparent text-base outline-none"
              />
              <Kbd keys="Esc" />
            </div>
            {error && (
              <p role="alert" className="text-bad px-4 py-2 text-sm">
                {error.message}
              </p>
            )}
            <Autocomplete.Empty className="text-muted text-center text-sm not-empty:px-3 not-empty:py-8">
              {!searching && !error && "No results"}
            </Autocomplete.Empty>
            <Autocomplete.List className="max-h-[50vh] overflow-y-auto not-data-empty:p-1.5 not-data-empty:pb-2">
              {({ key, heading, items }: Group) => (
                <Autocomplete.Group key={key} items={items}>
                  <Autocomplete.GroupLabel className="text-faint px-2.5 pt-2 pb-1 text-xs">
                    {heading}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(entry: Entry) => <Item key={entry.key} entry={entry} onClose={onClose} />}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Item({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  const { label, icon, hint, needs = "viewer", open } = entry;
  const may = useHasRole(needs);
  return (
    <Autocomplete.Item
      value={entry}
      disabled={!may}
      onClick={() => {
        onClose();
        void open();
      }}
      className="data-highlighted:bg-hover data-disabled:text-faint flex h-9 cursor-default scroll-my-1.5 items-center gap-2.5 rounded-md px-2.5 text-sm outline-none select-none"
    >
      <Icon name={icon} className="text-muted size-4" />
      <span className="min-w-0 flex-1 truncate">{label}</span>
      {may ? (
        hint
      ) : (
        <span className="text-faint text-xs">{needs === "owner" ? "Owners" : "Developers and owners"} only</span>
      )}
    </Autocomplete.Item>
  );
}

/** The pages with these words, and below them what the service finds; before anything is typed, the newest runs and the agents. */
function useGroups(typed: string): ReturnType<typeof useFound> {
  const { contains } = Autocomplete.useFilter();
  const pages = usePages();
  const recent = useRecent({ enabled: typed === "" });
  const { groups: found, ...search } = useFound(typed);
  const words = typed.split(/\s+/);
  const matching = pages.map(({ key, heading, items }) => ({
    key,
    heading,
    items: items.filter(({ label }) => words.every((word) => contains(`${heading} ${label}`, word))),
  }));
  const groups = [...matching, ...(typed === "" ? recent : found)].filter(({ items }) => items.length > 0);
  return { groups, ...search };
}

/** The agent's and the organisation's pages. */
function usePages(): Group[] {
  const agent = useCurrentAgent();
  const navigate = useNavigate();
  const rangeOf = useCarriedRange();
  const ofAgent = ({ agentId, name }: Agent): Group => ({
    key: agentId,
    heading: name,
    items: AGENT_PAGES.map((page) => ({
      ...entryOf(page),
      open: () => navigate({ to: page.to, params: { agentId }, search: rangeOf(page) }),
    })),
  });
  const ofOrganisation = ORGANISATION_PAGES.map((page) => ({
    ...entryOf(page),
    open: () => navigate({ to: page.to, search: rangeOf(page) }),
  }));
  const actions: Entry[] = [
    {
      key: "new agent",
      label: "New agent",
      icon: "plus",
      needs: "developer",
      open: () => navigate({ to: "/agents", search: { create: "1" } }),
    },
    {
      key: "invite",
      label: "Invite a member",
      icon: "plus",
      needs: "owner",
      open: () => navigate({ to: "/members", search: { create: "1" } }),
    },
    { key: "account", label: "Account", icon: "session", open: () => navigate({ to: "/account" }) },
  ];
  const organisation = { key: "organisation", heading: "Organisation", items: [...ofOrganisation, ...actions] };
  return agent ? [ofAgent(agent), organisation] : [organisation];
}

const entryOf = ({ to, label, icon, key }: Page) => ({ key: to, label, icon, hint: <Kbd keys={`g ${key}`} /> });

/** The agent's newest runs, and the agents. */
function useRecent({ enabled }: { enabled: boolean }): Group[] {
  const navigate = useNavigate();
  const agentId = useCurrentAgent()?.agentId ?? "";
  const { data: runs = [] } = useInfiniteQuery({
    ...list("/agents/:agent_id/runs", { params: { agentId }, query: { limit: 5 } }),
    enabled: enabled && agentId !== "",
  });
  const { data: agents = [] } = useInfiniteQuery({ ...list("/agents", { query: { limit: 8 } }), enabled });
  return [
    {
      key: "recent runs",
      heading: "Recent runs",
      items: runs.map(({ runId, query, createdAt }) => ({
        key: runId,
        label: query,
        icon: "run",
        hint: <span className="text-faint text-xs">{formatRelative(createdAt, Date.now(), zone.get())}</span>,
        open: () => navigate({ to: "/agents/$agentId/runs/$runId", params: { agentId, runId } }),
      })),
    },
    {
      key: "agents",
      heading: "Agents",
      items: agents.map(({ agentId: id, name }) => ({
        key: id,
        label: name,
        icon: "agent",
        open: () => navigate({ to: "/agents/$agentId", params: { agentId: id } }),
      })),
    },
  ];
}

/** What the member may read with this id or name, and runs with these words. */
function useFound(typed: string): { groups: Group[]; searching: boolean; error: Error | null } {
  const navigate = useNavigate();
  const q = useDeferredValue(typed).slice(0, 200);
  const { data, error, isFetching } = useQuery({
    ...resource("/search", { query: { q } }),
    enabled: q !== "",
    placeholderData: keepPreviousData,
  });
  if (q === "") return { groups: [], searching: false, error: null };
  const groups = KINDS.map(({ kind, heading, icon }) => ({
    key: kind,
    heading,
    items: (data?.found ?? [])
      .filter((item) => item.kind === kind)
      .map((item) => ({
        key: `${kind} ${item.agentId ?? ""} ${item.id}`,
        label: item.name,
        icon,
        hint: <span className="text-faint text-xs">{hintOf(item)}</span>,
        open: () => openFound(navigate, item),
      })),
  }));
  return { groups, searching: isFetching, error };
}

const KINDS: { kind: Found["kind"]; heading: string; icon: IconName }[] = [
  { kind: "agent", heading: "Agents", icon: "agent" },
  { kind: "function", heading: "Functions", icon: "function" },
  { kind: "run", heading: "Runs", icon: "run" },
  { kind: "call", heading: "Calls", icon: "branch" },
  { kind: "approval", heading: "Approvals", icon: "check" },
  { kind: "thread", heading: "Threads", icon: "thread" },
  { kind: "session", heading: "Sessions", icon: "session" },
  { kind: "view", heading: "Views", icon: "filter" },
  { kind: "key", heading: "Keys", icon: "key" },
  { kind: "runtime", heading: "Runtimes", icon: "plug" },
  { kind: "serviceToken", heading: "Service tokens", icon: "organisation" },
  { kind: "member", heading: "Members", icon: "members" },
];

const hintOf = ({ kind, id, name, at }: Found): string =>
  at !== null ? formatRelative(at, Date.now(), zone.get()) : kind === "agent" || id === name ? "" : id.slice(0, 12);

/** Opens the found item's page. */
function openFound(navigate: ReturnType<typeof useNavigate>, found: Found): Promise<void> {
  const { kind, id, agentId, runId = "", keyKind, search = {} } = found;
  if (agentId === null) return navigate({ to: kind === "serviceToken" ? "/settings" : "/members" });
  const params = { agentId };
  switch (kind) {
    case "call":
      return navigate({ to: "/agents/$agentId/runs/$runId", params: { agentId, runId }, search: { span: id } });
    case "approval":
      return navigate({ to: "/approvals", search: { status: "all", runId, approval: id } });
    case "view":
      return navigate({ to: "/agents/$agentId/runs", params, search: searchOfRuns(search) });
    case "run":
      return navigate({ to: "/agents/$agentId/runs/$runId", params: { agentId, runId: id } });
    case "thread":
      return navigate({ to: "/agents/$agentId/threads/$threadId", params: { agentId, threadId: id } });
    case "function":
      return navigate({ to: "/agents/$agentId/functions/$functionName", params: { agentId, functionName: id } });
    case "session":
      return navigate({ to: "/agents/$agentId/runs", params, search: { sessionId: id, range: "90d" } });
    case "key":
      return navigate({ to: "/agents/$agentId/keys", params, search: { key: id, kind: keyKind ?? "api" } });
    case "runtime":
      return navigate({ to: "/agents/$agentId/runtimes", params });
    default:
      return navigate({ to: "/agents/$agentId", params });
  }
}

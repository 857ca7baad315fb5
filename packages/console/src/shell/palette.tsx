import { Dialog } from "@base-ui/react/dialog";
import type { Agent, ConsoleRole, Found } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command, defaultFilter } from "cmdk";
import { type ReactNode, useDeferredValue } from "react";
import { list, resource, useHasRole } from "../api/api.ts";
import { formatRelative } from "../format/times.ts";
import { zone } from "../state/signals.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Kbd } from "../ui/values.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES, useCurrentAgent } from "./navigation.ts";

interface PaletteProps {
  /** Can hold text before the first render: what the member typed while the palette's code loaded. */
  typed: string;
  onTyped: (typed: string) => void;
  onClose: () => void;
}

/** Searches the pages, and everything of the organisation by name or ID, and opens the chosen one. */
export function Palette({ typed, onTyped, onClose }: PaletteProps) {
  const agent = useCurrentAgent();
  const go = (to: () => Promise<void>) => () => {
    onClose();
    void to();
  };
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fades bg-veil fixed inset-0 z-40" />
        <Dialog.Popup className="rises border-line bg-raised shadow-raised fixed inset-x-3 top-[12vh] z-40 mx-auto max-w-xl overflow-hidden rounded-xl border outline-none">
          <Dialog.Title className="sr-only">Search</Dialog.Title>
          <Command label="Search pages and everything of the organisation" loop filter={scoreOf}>
            <div className="border-line flex items-center gap-2.5 border-b px-4">
              <Icon name="search" className="text-faint" />
              <Command.Input
                value={typed}
                onValueChange={onTyped}
                // The dialog selects the text of its first field, which the next key would replace.
                onFocus={({ currentTarget }) => currentTarget.setSelectionRange(typed.length, typed.length)}
                placeholder="Search by name, text or ID"
                className="h-12 w-full bg-transparent text-base outline-none"
              />
              <Kbd keys="Esc" />
            </div>
            <Command.List className="max-h-[50vh] overflow-y-auto p-1.5 pb-2">
              <Command.Empty className="text-muted px-3 py-8 text-center text-sm">No results</Command.Empty>
              {agent && <AgentPages agent={agent} onGo={go} />}
              <FoundItems typed={typed} onGo={go} />
              {agent && typed.trim() === "" && <RecentRuns agentId={agent.agentId} onGo={go} />}
              <OrganisationPages onGo={go} />
              {typed.trim() === "" && <Agents onGo={go} />}
            </Command.List>
          </Command>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface GroupProps {
  /** Wraps a navigation so that it closes the palette first. */
  onGo: (to: () => Promise<void>) => () => void;
}

function AgentPages({ agent, onGo }: GroupProps & { agent: Agent }) {
  const navigate = useNavigate();
  return (
    <Group heading={agent.name}>
      {AGENT_PAGES.map((page) => (
        <Item
          key={page.to}
          value={`${agent.name} ${page.label}`}
          icon={page.icon}
          hint={<Kbd keys={`g ${page.key}`} />}
          onSelect={onGo(() => navigate({ to: page.to, params: { agentId: agent.agentId } }))}
        >
          {page.label}
        </Item>
      ))}
    </Group>
  );
}

function OrganisationPages({ onGo }: GroupProps) {
  const navigate = useNavigate();
  return (
    <Group heading="Organisation">
      {ORGANISATION_PAGES.map((page) => (
        <Item
          key={page.to}
          value={`Organisation ${page.label}`}
          icon={page.icon}
          hint={<Kbd keys={`g ${page.key}`} />}
          onSelect={onGo(() => navigate({ to: page.to }))}
        >
          {page.label}
        </Item>
      ))}
      <Item icon="plus" needs="developer" onSelect={onGo(() => navigate({ to: "/agents", search: { create: "1" } }))}>
        New agent
      </Item>
      <Item icon="plus" needs="owner" onSelect={onGo(() => navigate({ to: "/members", search: { create: "1" } }))}>
        Invite a member
      </Item>
      <Item icon="session" onSelect={onGo(() => navigate({ to: "/account" }))}>
        Account
      </Item>
    </Group>
  );
}

interface FoundProps extends GroupProps {
  typed: string;
}

/** Begins the values of what the service found. */
const FOUND = "\u0001";

/** The service has chosen what it found, a run by a word of its answer say, so that it is shown whatever its name, below the pages. */
const scoreOf: typeof defaultFilter = (value, ...searched) =>
  value.startsWith(FOUND) ? Number.MIN_VALUE : defaultFilter(value, ...searched);

/** What the organisation has of this id or name, and runs with these words. */
function FoundItems({ typed, onGo }: FoundProps) {
  const navigate = useNavigate();
  const q = useDeferredValue(typed.trim()).slice(0, 200);
  const { data, error } = useQuery({
    ...resource("/search", { query: { q } }),
    enabled: q !== "",
    placeholderData: keepPreviousData,
  });
  if (error && q !== "")
    return (
      <p role="alert" className="text-bad px-3 py-2 text-sm">
        {error.message}
      </p>
    );
  const found = q === "" ? [] : (data?.found ?? []);
  return KINDS.map(({ kind, heading, icon }) => {
    const items = found.filter((one) => one.kind === kind);
    if (items.length === 0) return null;
    return (
      <Group key={kind} heading={heading}>
        {items.map((one) => (
          <Item
            key={`${one.agentId ?? ""} ${one.id}`}
            value={`${FOUND} ${kind} ${one.agentId ?? ""} ${one.id}`}
            icon={icon}
            hint={<span className="text-faint text-xs">{hintOf(one)}</span>}
            onSelect={onGo(() => openFound(navigate, one))}
          >
            {one.name}
          </Item>
        ))}
      </Group>
    );
  });
}

const KINDS: { kind: Found["kind"]; heading: string; icon: IconName }[] = [
  { kind: "agent", heading: "Agents", icon: "agent" },
  { kind: "function", heading: "Functions", icon: "function" },
  { kind: "run", heading: "Runs", icon: "run" },
  { kind: "thread", heading: "Threads", icon: "thread" },
  { kind: "session", heading: "Sessions", icon: "session" },
  { kind: "key", heading: "Keys", icon: "key" },
  { kind: "runtime", heading: "Runtimes", icon: "plug" },
  { kind: "member", heading: "Members", icon: "members" },
];

const hintOf = ({ kind, id, name, at }: Found): string =>
  at !== null ? formatRelative(at, Date.now(), zone.get()) : kind === "agent" || id === name ? "" : id.slice(0, 12);

/** Opens the page of what was found. */
function openFound(navigate: ReturnType<typeof useNavigate>, { kind, id, agentId, keyKind }: Found): Promise<void> {
  if (agentId === null) return navigate({ to: "/members" });
  const params = { agentId };
  switch (kind) {
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

/** The newest runs of the agent, before anything is typed. */
function RecentRuns({ agentId, onGo }: GroupProps & { agentId: string }) {
  const navigate = useNavigate();
  const { data = [] } = useInfiniteQuery(list("/agents/:agent_id/runs", { params: { agentId }, query: { limit: 5 } }));
  if (data.length === 0) return null;
  return (
    <Group heading="Recent runs">
      {data.map(({ runId, query, createdAt }) => (
        <Item
          key={runId}
          value={`${query} ${runId}`}
          icon="run"
          hint={<span className="text-faint text-xs">{formatRelative(createdAt, Date.now(), zone.get())}</span>}
          onSelect={onGo(() => navigate({ to: "/agents/$agentId/runs/$runId", params: { agentId, runId } }))}
        >
          {query}
        </Item>
      ))}
    </Group>
  );
}

function Agents({ onGo }: GroupProps) {
  const navigate = useNavigate();
  const { data = [] } = useInfiniteQuery(list("/agents", { query: { limit: 8 } }));
  if (data.length === 0) return null;
  return (
    <Group heading="Agents">
      {data.map(({ agentId, name }) => (
        <Item
          key={agentId}
          value={`${name} ${agentId}`}
          icon="agent"
          onSelect={onGo(() => navigate({ to: "/agents/$agentId", params: { agentId } }))}
        >
          {name}
        </Item>
      ))}
    </Group>
  );
}

const Group = ({ heading, children }: { heading: string; children: ReactNode }) => (
  <Command.Group
    heading={heading}
    className="[&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs"
  >
    {children}
  </Command.Group>
);

interface ItemProps {
  icon: IconName;
  hint?: ReactNode;
  /** The lowest role that may choose it. Others see it disabled, with that role. */
  needs?: ConsoleRole;
  value?: string;
  onSelect: () => void;
  children: ReactNode;
}

function Item({ icon, hint, needs = "viewer", value, onSelect, children }: ItemProps) {
  const may = useHasRole(needs);
  return (
    <Command.Item
      {...(value !== undefined && { value })}
      disabled={!may}
      onSelect={onSelect}
      className="data-[selected=true]:bg-hover data-[disabled=true]:text-faint flex h-9 items-center gap-2.5 rounded-md px-2.5 text-sm"
    >
      <Icon name={icon} className="text-muted size-4" />
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {may ? (
        hint
      ) : (
        <span className="text-faint text-xs">{needs === "owner" ? "Owners" : "Developers and owners"} only</span>
      )}
    </Command.Item>
  );
}

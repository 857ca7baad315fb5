import { Dialog } from "@base-ui/react/dialog";
import type { ConsoleRole } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Command } from "cmdk";
import { useDeferredValue, useState, type ReactNode } from "react";
import { list } from "../api/queries.ts";
import { formatRelative } from "../format/times.ts";
import { useMay } from "../state/session.ts";
import { zone } from "../state/zone.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES } from "./navigation.ts";
import { useAgentHere } from "./use-agent-here.ts";

/** Finds pages, agents and runs by words or by an id, and goes there. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const navigate = useNavigate();
  const agent = useAgentHere();
  const go = (to: () => Promise<void>) => () => {
    onClose();
    void to();
  };
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fades bg-veil fixed inset-0 z-40" />
        <Dialog.Popup className="rises border-line bg-raised shadow-raised fixed inset-x-3 top-[12vh] z-40 mx-auto max-w-xl overflow-hidden rounded-xl border outline-none">
          <Dialog.Title className="sr-only">Find</Dialog.Title>
          <Command label="Find a page, an agent or a run" loop>
            <div className="border-line flex items-center gap-2.5 border-b px-4">
              <Icon name="search" className="text-faint" />
              <Command.Input
                value={typed}
                onValueChange={setTyped}
                placeholder="A page, an agent, a run or its id"
                className="h-12 w-full bg-transparent text-base outline-none"
              />
              <Kbd keys="Esc" />
            </div>
            <Command.List className="max-h-[50vh] overflow-y-auto p-1.5 pb-2">
              <Command.Empty className="text-muted px-3 py-8 text-center text-sm">Nothing of that name.</Command.Empty>
              {agent && (
                <Group heading={agent.name}>
                  {AGENT_PAGES.map((page) => (
                    <Item
                      key={page.to}
                      value={`${agent.name} ${page.label}`}
                      icon={page.icon}
                      hint={<Kbd keys={`g ${page.key}`} />}
                      onSelect={go(() => navigate({ to: page.to, params: { agentId: agent.agentId } }))}
                    >
                      {page.label}
                    </Item>
                  ))}
                </Group>
              )}
              {agent && <Runs agentId={agent.agentId} typed={typed} onGo={go} />}
              <Group heading="Organisation">
                {ORGANISATION_PAGES.map((page) => (
                  <Item
                    key={page.to}
                    value={`Organisation ${page.label}`}
                    icon={page.icon}
                    hint={<Kbd keys={`g ${page.key}`} />}
                    onSelect={go(() => navigate({ to: page.to }))}
                  >
                    {page.label}
                  </Item>
                ))}
                <Item
                  icon="plus"
                  needs="developer"
                  onSelect={go(() => navigate({ to: "/agents", search: { create: "1" } }))}
                >
                  New agent
                </Item>
                <Item
                  icon="plus"
                  needs="owner"
                  onSelect={go(() => navigate({ to: "/members", search: { create: "1" } }))}
                >
                  Invite a member
                </Item>
                <Item icon="session" onSelect={go(() => navigate({ to: "/account" }))}>
                  Account
                </Item>
              </Group>
              <Agents typed={typed} onGo={go} />
            </Command.List>
          </Command>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface FoundProps {
  typed: string;
  onGo: (to: () => Promise<void>) => () => void;
}

function Agents({ typed, onGo }: FoundProps) {
  const navigate = useNavigate();
  const q = useDeferredValue(typed.trim()).slice(0, 200) || undefined;
  const { data = [] } = useInfiniteQuery(list("/agents", { query: { q, limit: 8 } }));
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

function Runs({ agentId, typed, onGo }: FoundProps & { agentId: string }) {
  const navigate = useNavigate();
  const q = useDeferredValue(typed.trim()).slice(0, 200) || undefined;
  const { data = [] } = useInfiniteQuery(
    list("/agents/:agent_id/runs", { params: { agent_id: agentId }, query: { q, limit: 5 } }),
  );
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

function Group({ heading, children }: { heading: string; children: ReactNode }) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:text-faint [&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs"
    >
      {children}
    </Command.Group>
  );
}

function Item({
  icon,
  hint,
  needs = "viewer",
  value,
  onSelect,
  children,
}: {
  icon: IconName;
  hint?: ReactNode;
  /** Members below that role are told who may. */
  needs?: ConsoleRole;
  value?: string;
  onSelect: () => void;
  children: ReactNode;
}) {
  const may = useMay(needs);
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
        <span className="text-faint text-xs">{needs === "owner" ? "owners" : "developers and owners"} alone</span>
      )}
    </Command.Item>
  );
}

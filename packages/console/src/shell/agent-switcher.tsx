import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { list } from "../api/queries.ts";
import { Icon } from "../ui/icon.tsx";
import { GuardedMenuItem, Menu, MenuItem, MenuLine } from "../ui/popover.tsx";
import { useAgentHere } from "./use-agent-here.ts";

/** Goes to another agent. It lists the first agents alone; the palette finds any. */
export function AgentSwitcher() {
  const { agentId } = useParams({ strict: false });
  const agent = useAgentHere();
  const agents = useInfiniteQuery(list("/agents"));
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="hover:bg-hover flex h-8 min-w-0 items-center gap-1.5 rounded-md px-2 text-sm font-medium"
        >
          <span className="sr-only">Agent: </span>
          <span className="max-w-48 truncate">{agentId === undefined ? "All agents" : (agent?.name ?? "Agents")}</span>
          <Icon name="upDown" className="text-faint size-3.5" />
        </button>
      }
    >
      {agents.data?.map((one) => (
        <MenuItem
          key={one.agentId}
          icon={one.agentId === agentId ? "check" : "agent"}
          link={<Link to="/agents/$agentId" params={{ agentId: one.agentId }} />}
          hint={one.runtimes > 0 ? <Icon name="plug" className="text-ok size-3.5" /> : undefined}
        >
          {one.name}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem icon="table" link={<Link to="/agents" />}>
        All agents
      </MenuItem>
      <GuardedMenuItem needs="developer" icon="plus" link={<Link to="/agents" search={{ create: "1" }} />}>
        New agent
      </GuardedMenuItem>
    </Menu>
  );
}

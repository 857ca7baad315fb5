import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useAction } from "../api/action.ts";
import { api, list, queryClient, useSession } from "../api/api.ts";
import { theme, useSignal, zone, ZONES } from "../state/signals.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { GuardedMenuItem, Menu, MenuChoice, MenuItem, MenuSection, MenuSeparator } from "../ui/popover.tsx";
import { showError } from "../ui/toast.tsx";
import { useCurrentAgent } from "./navigation.ts";

export function AccountMenu() {
  const { member, version } = useSession();
  const navigate = useNavigate();
  const signOut = useAction({
    mutationFn: () => api.delete("/session"),
    onSuccess: async () => {
      await navigate({ to: "/sign-in" });
      queryClient.clear();
    },
    onError: (error) => showError("Could not sign out", error),
  });
  const name = member.name || member.email || "You";
  return (
    <Menu
      trigger={
        <button
          type="button"
          aria-label={`Account of ${name}`}
          className="bg-accent-soft text-accent ml-1 flex size-7 shrink-0 items-center justify-center rounded-full text-xs font-semibold"
        >
          {initials(name)}
        </button>
      }
    >
      <div className="max-w-64 px-2 py-1.5">
        <p className="truncate font-medium">{name}</p>
        <p className="text-muted truncate text-xs">
          {[member.email, member.role].filter((part) => part !== null).join(" · ")}
        </p>
      </div>
      <MenuSeparator />
      <MenuItem icon="session" link={<Link to="/account" />}>
        Account
      </MenuItem>
      <MenuItem icon="signOut" onSelect={() => signOut.mutate()}>
        Sign out
      </MenuItem>
      <MenuSeparator />
      <p className="text-faint px-2 py-1 text-xs">Patchbay {version}</p>
    </Menu>
  );
}

const initials = (name: string): string =>
  name
    .split(/[\s@.]+/)
    .slice(0, 2)
    .map((part) => part.charAt(0).toUpperCase())
    .join("");

/** Switches to another agent. Lists only the first page of agents; the palette finds all. */
export function AgentSwitcher() {
  const { agentId } = useParams({ strict: false });
  const agent = useCurrentAgent();
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
      {agents.data?.map((item) => (
        <MenuItem
          key={item.agentId}
          icon={item.agentId === agentId ? "check" : "agent"}
          link={<Link to="/agents/$agentId" params={{ agentId: item.agentId }} />}
          hint={item.runtimes > 0 ? <Icon name="plug" className="text-ok size-3.5" /> : undefined}
        >
          {item.name}
        </MenuItem>
      ))}
      <MenuSeparator />
      <MenuItem icon="table" link={<Link to="/agents" />}>
        All agents
      </MenuItem>
      <GuardedMenuItem needs="developer" icon="plus" link={<Link to="/agents" search={{ create: "1" }} />}>
        New agent
      </GuardedMenuItem>
    </Menu>
  );
}

export function ThemeMenu() {
  const choice = useSignal(theme);
  const shownZone = useSignal(zone);
  return (
    <Menu
      trigger={<IconButton icon={choice === "dark" ? "moon" : choice === "light" ? "sun" : "screen"} label="Display" />}
    >
      <MenuSection title="Theme">
        <MenuChoice
          value={choice}
          onChange={theme.set}
          options={[
            { value: "system", label: "System", icon: "screen" },
            { value: "light", label: "Light", icon: "sun" },
            { value: "dark", label: "Dark", icon: "moon" },
          ]}
        />
      </MenuSection>
      <MenuSeparator />
      <MenuSection title="Times">
        <MenuChoice value={shownZone} onChange={zone.set} options={ZONES} />
      </MenuSection>
    </Menu>
  );
}

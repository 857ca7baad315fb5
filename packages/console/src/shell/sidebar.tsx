import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { resource } from "../api/api.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES, useCarriedRange, useCurrentAgent } from "./navigation.ts";

const itemClass =
  "flex h-8 items-center gap-2.5 rounded-md px-2.5 text-sm font-medium text-muted transition-colors hover:bg-hover hover:text-text aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent";

/** The current agent's pages, then the organisation's. */
export function Sidebar({ onNavigate }: { onNavigate?: () => void }) {
  const agent = useCurrentAgent();
  const rangeOf = useCarriedRange();
  return (
    <nav aria-label="Pages" className="grid grid-cols-[minmax(0,1fr)] gap-5" onClick={onNavigate}>
      {agent && (
        <Section title={agent.name}>
          {AGENT_PAGES.map((page) => (
            <li key={page.to}>
              <Link
                to={page.to}
                params={{ agentId: agent.agentId }}
                search={rangeOf(page)}
                activeOptions={{ exact: page.to === "/agents/$agentId", includeSearch: false }}
                className={itemClass}
              >
                <Entry icon={page.icon} label={page.label} />
              </Link>
            </li>
          ))}
        </Section>
      )}
      <Section title="Organisation">
        {ORGANISATION_PAGES.map((page) => (
          <li key={page.to}>
            <Link
              to={page.to}
              search={rangeOf(page)}
              activeOptions={{ exact: page.to === "/agents", includeSearch: false }}
              className={itemClass}
            >
              <Entry icon={page.icon} label={page.label} />
              {page.to === "/approvals" && <PendingApprovals />}
            </Link>
          </li>
        ))}
      </Section>
    </nav>
  );
}

/** The menu entry's badge: how many approvals are pending. */
function PendingApprovals() {
  const { data } = useQuery(resource("/approvals", { query: { status: "pending", limit: 100 } }));
  if (!data || data.items.length === 0) return null;
  const count = `${data.items.length}${data.nextCursor === null ? "" : "+"}`;
  return (
    <span className="bg-warn-soft text-warn ml-auto rounded px-1.5 text-xs">
      {count}
      <span className="sr-only"> pending</span>
    </span>
  );
}

const Section = ({ title, children }: { title: string; children: React.ReactNode }) => (
  <div>
    <h2 className="text-faint mb-1 truncate px-2.5 text-xs font-medium">{title}</h2>
    <ul className="grid gap-px">{children}</ul>
  </div>
);

const Entry = ({ icon, label }: { icon: IconName; label: string }) => (
  <>
    <Icon name={icon} />
    {label}
  </>
);

import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { Menu, MenuItem, MenuSection, MenuSeparator } from "../../ui/popover.tsx";

/** Run list search parameters. */
export type RunsSearch = Record<
  | "role"
  | "noRole"
  | "keyId"
  | "source"
  | "code"
  | "model"
  | "functionName"
  | "status"
  | "sort"
  | "range"
  | "from"
  | "to",
  string | undefined
>;

/** The agents behind a page's figures, and what it shows about them. */
export interface Scope {
  agents: readonly { agentId: string; name?: string }[];
  /** Search parameters for runs in the page's range, with its role and source. */
  search: Partial<RunsSearch>;
  /** Filters the page. */
  onSearch?: (changed: { role?: string; source?: string }) => void;
}

interface LinkProps {
  className: string;
  "aria-label"?: string;
  children: ReactNode;
}

/** Leads to the runs behind a figure. A run list has one agent: for several, it opens a menu with their lists. */
export function runsLink(
  { agents, search, onSearch }: Scope,
  more: Partial<RunsSearch>,
  props: LinkProps,
): ReactElement {
  const linkOf = (agentId: string, its?: LinkProps) => (
    <Link to="/agents/$agentId/runs" params={{ agentId }} search={{ ...search, ...more } as never} {...its} />
  );
  if (agents.length === 0) return <span>{props.children}</span>;
  if (agents.length === 1) return linkOf(agents[0]!.agentId, props);
  const { role, source } = more;
  const filter = role !== undefined ? { role } : source !== undefined ? { source } : undefined;
  return (
    <Menu align="start" trigger={<button type="button" {...props} className={`text-left ${props.className}`} />}>
      <MenuSection title="Runs of">
        {agents.map(({ agentId, name }) => (
          <MenuItem key={agentId} icon="agent" link={linkOf(agentId)}>
            {name}
          </MenuItem>
        ))}
      </MenuSection>
      {filter && onSearch && (
        <>
          <MenuSeparator />
          <MenuItem icon="filter" onSelect={() => onSearch(filter)}>
            Filter this page
          </MenuItem>
        </>
      )}
    </Menu>
  );
}

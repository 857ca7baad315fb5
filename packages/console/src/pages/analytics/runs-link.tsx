import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { Menu, MenuItem, MenuSection, MenuSeparator } from "../../ui/popover.tsx";

/** Search parameters of a list of runs. */
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

/** The agents of the figures on a page, and what it shows of them. */
export interface Scope {
  agents: readonly { agentId: string; name?: string }[];
  /** Search parameters for the runs of the page's range, role and source. */
  search: Partial<RunsSearch>;
  /** Filters the page. */
  onSearch?: (changed: { role?: string; source?: string }) => void;
}

interface LinkProps {
  className: string;
  "aria-label"?: string;
  children: ReactNode;
}

/** Leads to the runs behind a figure. A list of runs has one agent: for several, it opens a menu of them. */
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

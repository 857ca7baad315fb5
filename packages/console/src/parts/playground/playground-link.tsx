import type { ComponentProps, ReactNode } from "react";
import { GuardedLink, LinkButton } from "../../ui/button.tsx";
import type { PlaygroundSearch } from "./settings.ts";

interface PlaygroundLinkProps extends Pick<ComponentProps<typeof GuardedLink>, "icon" | "size" | "className"> {
  agentId: string;
  /** What the playground starts with, such as a thread or a run to repeat. */
  search?: PlaygroundSearch;
  children?: ReactNode;
}

/** The primary link to an agent's playground, disabled for viewers. */
export function PlaygroundLink({ agentId, search = {}, children = "Open playground", ...looks }: PlaygroundLinkProps) {
  return (
    <GuardedLink
      {...looks}
      needs="developer"
      look="primary"
      link={<LinkButton to="/agents/$agentId/playground" params={{ agentId }} search={search} />}
    >
      {children}
    </GuardedLink>
  );
}

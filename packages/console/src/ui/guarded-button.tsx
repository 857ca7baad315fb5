import type { ConsoleRole } from "@patchbay/protocol/console";
import { cloneElement, type ComponentProps, type ReactElement, type ReactNode } from "react";
import { useMay, useSession } from "../state/session.ts";
import { Button, buttonClass } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Icon } from "./icon.tsx";
import { Tooltip } from "./tooltip.tsx";

/** Why a member may not do what takes the role `needs`; undefined where they may. */
export function useReason(needs: ConsoleRole): string | undefined {
  const { member } = useSession();
  if (useMay(needs)) return undefined;
  const who = needs === "owner" ? "An owner" : "A developer or an owner";
  return `${who} of the organisation may do this. Your role is ${member.role}.`;
}

/** A button that everybody sees and members of a role or a higher one may press; others are told who may. */
export function GuardedButton({ needs, ...rest }: ComponentProps<typeof Button> & { needs: ConsoleRole }) {
  const reason = useReason(needs);
  if (reason === undefined) return <Button {...rest} />;
  return (
    <Tooltip content={reason} describes>
      <Button {...rest} disabled />
    </Tooltip>
  );
}

interface GuardedLinkProps extends Pick<ComponentProps<typeof Button>, "look" | "size" | "icon" | "className"> {
  needs: ConsoleRole;
  /** Where it leads: a bare `Link`. */
  link: ReactElement<{ className?: string; children?: ReactNode }>;
  children: ReactNode;
}

/** The same for a link that looks like a button. */
export function GuardedLink({ needs, link, children, ...looks }: GuardedLinkProps) {
  const { look, size, icon, className } = looks;
  if (!useMay(needs))
    return (
      <GuardedButton needs={needs} {...looks}>
        {children}
      </GuardedButton>
    );
  return cloneElement(link, {
    className: classNames(buttonClass(look, size), className),
    children: (
      <>
        {icon && <Icon name={icon} className="size-3.5" />}
        {children}
      </>
    ),
  });
}

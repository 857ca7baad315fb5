import { Button as BaseButton } from "@base-ui/react/button";
import type { ConsoleRole } from "@patchbay/protocol/console";
import { createLink } from "@tanstack/react-router";
import { cloneElement, type ComponentProps, type ReactElement, type ReactNode } from "react";
import { useHasRole, useSession } from "../api/api.ts";
import { classNames } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Tooltip } from "./tooltip.tsx";

export type ButtonLook = "primary" | "secondary" | "ghost" | "danger";

const LOOKS: Record<ButtonLook, string> = {
  primary: "bg-accent-fill text-on-accent hover:bg-accent-fill-hover",
  secondary: "border border-edge/60 bg-surface text-text hover:bg-hover",
  ghost: "text-muted hover:bg-hover hover:text-text",
  danger: "bg-bad-fill text-on-accent hover:bg-bad-fill-hover",
};

const SIZES = { small: "h-7 px-2 text-xs", medium: "h-8 px-3 text-sm" };

/** Button classes, for links that look like one. */
export function buttonClass(look: ButtonLook = "secondary", size: keyof typeof SIZES = "medium"): string {
  return classNames(
    "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors",
    "data-disabled:opacity-60",
    LOOKS[look],
    SIZES[size],
  );
}

interface ButtonProps extends Omit<ComponentProps<typeof BaseButton>, "className"> {
  look?: ButtonLook;
  size?: keyof typeof SIZES;
  icon?: IconName | undefined;
  /** Shows a spinner and ignores clicks; the button keeps the focus. */
  busy?: boolean;
  className?: string;
}

export const Button = ({ look, size, icon, busy = false, className, children, disabled, ...rest }: ButtonProps) => (
  <BaseButton
    {...rest}
    disabled={disabled === true || busy}
    focusableWhenDisabled
    aria-busy={busy || undefined}
    className={classNames(buttonClass(look, size), className)}
  >
    {busy ? (
      <Icon name="running" className="animate-turn size-3.5" />
    ) : (
      icon && <Icon name={icon} className="size-3.5" />
    )}
    {children}
  </BaseButton>
);

interface IconButtonProps extends Omit<ComponentProps<typeof BaseButton>, "className" | "children"> {
  icon: IconName;
  /** What the button does: its accessible name and its tooltip. */
  label: string;
  /** The shortcut, shown in the tooltip. */
  keys?: ReactNode;
  size?: keyof typeof SIZES;
  className?: string;
}

export const IconButton = ({ icon, label, keys, size = "medium", className, ...rest }: IconButtonProps) => (
  <Tooltip
    content={
      <>
        {label} {keys}
      </>
    }
  >
    <BaseButton
      {...rest}
      focusableWhenDisabled
      aria-label={label}
      className={classNames(
        "text-muted hover:bg-hover hover:text-text inline-flex shrink-0 items-center justify-center rounded-md transition-colors data-disabled:opacity-60",
        size === "medium" ? "size-8" : "size-7",
        className,
      )}
    >
      <Icon name={icon} />
    </BaseButton>
  </Tooltip>
);

/** Why the member may not do what requires the role `needs`; undefined if the member may. */
export function useDisabledReason(needs: ConsoleRole): string | undefined {
  const { member } = useSession();
  if (useHasRole(needs)) return undefined;
  return `Requires the role ${needs === "owner" ? "owner" : "developer or owner"}. Your role is ${member.role}.`;
}

/** A button that is enabled for the role `needs` and higher ones. For other members it is disabled, with the reason. */
export function GuardedButton({ needs, ...rest }: ComponentProps<typeof Button> & { needs: ConsoleRole }) {
  const reason = useDisabledReason(needs);
  if (reason === undefined) return <Button {...rest} />;
  return (
    <Tooltip content={reason} describes>
      <Button {...rest} disabled />
    </Tooltip>
  );
}

interface LinkLooks extends Pick<ButtonProps, "look" | "size" | "icon"> {
  className?: string;
  children?: ReactNode;
}

const ButtonLike = ({ look, size, icon, className, children, ...rest }: LinkLooks) => (
  <a {...rest} className={classNames(buttonClass(look, size), className)}>
    {icon && <Icon name={icon} className="size-3.5" />}
    {children}
  </a>
);

/** A link that looks like a button. */
export const LinkButton = createLink(ButtonLike);

/** A small link without a frame, for the head of a card and for rows. */
export const QuietLink = createLink((props: LinkLooks) => <ButtonLike {...props} look="ghost" size="small" />);

/** A link within a text. */
export const TextLink = createLink(({ className, ...rest }: ComponentProps<"a">) => (
  <a {...rest} className={classNames("text-accent underline underline-offset-2", className)} />
));

interface GuardedLinkProps extends LinkLooks {
  needs: ConsoleRole;
  /** A `LinkButton` without looks and children. */
  link: ReactElement<LinkLooks>;
}

/** A link that looks like a button, enabled like `GuardedButton`. */
export const GuardedLink = ({ needs, link, ...looks }: GuardedLinkProps) =>
  useHasRole(needs) ? cloneElement(link, looks) : <GuardedButton needs={needs} {...looks} />;

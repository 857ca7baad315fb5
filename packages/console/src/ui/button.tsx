import { Button as BaseButton } from "@base-ui/react/button";
import type { ComponentProps, ReactNode } from "react";
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

/** Classes of a button, for links that look like one. */
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
  icon?: IconName;
  /** Shows that it is at work and takes no further press; it keeps the focus. */
  busy?: boolean;
  className?: string;
}

export function Button({ look, size, icon, busy = false, className, children, disabled, ...rest }: ButtonProps) {
  return (
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
}

interface IconButtonProps extends Omit<ComponentProps<typeof BaseButton>, "className" | "children"> {
  icon: IconName;
  /** What it does: its name for screen readers and its tooltip. */
  label: string;
  /** Keys that do the same. */
  keys?: ReactNode;
  size?: keyof typeof SIZES;
  className?: string;
}

export function IconButton({ icon, label, keys, size = "medium", className, ...rest }: IconButtonProps) {
  return (
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
}

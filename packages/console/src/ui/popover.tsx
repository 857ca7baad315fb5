import { Menu as BaseMenu } from "@base-ui/react/menu";
import { Popover as BasePopover } from "@base-ui/react/popover";
import type { ConsoleRole } from "@patchbay/protocol/console";
import type { ReactElement, ReactNode } from "react";
import { useDisabledReason } from "./button.tsx";
import { classNames, itemClass, popupClass } from "./class-names.ts";
import { Icon, type IconName } from "./icon.tsx";

interface PopoverProps {
  trigger: ReactElement;
  /** The accessible name. */
  title: string;
  children: ReactNode;
}

/** A small panel that opens next to `trigger`. */
export const Popover = ({ trigger, title, children }: PopoverProps) => (
  <BasePopover.Root>
    <BasePopover.Trigger render={trigger} />
    <BasePopover.Portal>
      <BasePopover.Positioner sideOffset={6} align="start" collisionPadding={12} className="z-50">
        <BasePopover.Popup className="rises border-line bg-raised shadow-raised max-w-(--available-width) rounded-lg border p-3 text-sm outline-none">
          <BasePopover.Title className="sr-only">{title}</BasePopover.Title>
          {children}
        </BasePopover.Popup>
      </BasePopover.Positioner>
    </BasePopover.Portal>
  </BasePopover.Root>
);

interface MenuProps {
  trigger: ReactElement;
  align?: "start" | "end";
  /** Where the focus goes when the menu closes: to the trigger, or nowhere if this returns false. */
  finalFocus?: () => boolean;
  children: ReactNode;
}

/** A menu with actions or links. Its children are MenuItem, MenuChoice, MenuSeparator and MenuSection. */
export const Menu = ({ trigger, align = "end", finalFocus = () => true, children }: MenuProps) => (
  <BaseMenu.Root modal={false}>
    <BaseMenu.Trigger render={trigger} />
    <BaseMenu.Portal>
      <BaseMenu.Positioner sideOffset={6} align={align} collisionPadding={8} className="z-50">
        <BaseMenu.Popup finalFocus={finalFocus} className={classNames(popupClass, "min-w-48")}>
          {children}
        </BaseMenu.Popup>
      </BaseMenu.Positioner>
    </BaseMenu.Portal>
  </BaseMenu.Root>
);

interface MenuItemProps {
  icon?: IconName;
  /** Shown at the end: a shortcut or an icon. */
  hint?: ReactNode;
  danger?: boolean;
  disabled?: boolean;
  /** Why the item is disabled. Setting it disables the item. */
  reason?: string | undefined;
  /** Renders the item as this link. */
  link?: ReactElement;
  onSelect?: () => void;
  children: ReactNode;
}

export function MenuItem(props: MenuItemProps) {
  const { icon, hint, danger = false, reason, disabled = reason !== undefined, link, onSelect, children } = props;
  return (
    <BaseMenu.Item
      {...(link && !disabled && { render: link })}
      disabled={disabled}
      onClick={onSelect}
      className={classNames(itemClass, danger && "text-bad", reason !== undefined && "items-start!")}
    >
      {icon && (
        <Icon name={icon} className={classNames("size-3.5", !danger && "text-muted", reason !== undefined && "mt-1")} />
      )}
      <span className="min-w-0 flex-1 truncate">
        {children}
        {reason !== undefined && <span className="block max-w-52 text-xs text-pretty whitespace-normal">{reason}</span>}
      </span>
      {hint}
    </BaseMenu.Item>
  );
}

/** A menu item that is enabled for the role `needs` and higher ones. For other members it is disabled, with the reason. */
export function GuardedMenuItem({ needs, ...rest }: Omit<MenuItemProps, "reason"> & { needs: ConsoleRole }) {
  return <MenuItem {...rest} reason={useDisabledReason(needs)} />;
}

interface MenuChoiceProps<T extends string> {
  value: T;
  options: readonly { value: T; label: string; icon?: IconName }[];
  onChange: (value: T) => void;
}

/** Radio items within a menu. */
export function MenuChoice<T extends string>({ value, options, onChange }: MenuChoiceProps<T>) {
  return (
    <BaseMenu.RadioGroup value={value} onValueChange={(next: T) => onChange(next)}>
      {options.map((option) => (
        <BaseMenu.RadioItem key={option.value} value={option.value} className={itemClass}>
          {option.icon && <Icon name={option.icon} className="text-muted size-3.5" />}
          <span className="flex-1">{option.label}</span>
          <BaseMenu.RadioItemIndicator>
            <Icon name="check" className="text-accent size-3.5" />
          </BaseMenu.RadioItemIndicator>
        </BaseMenu.RadioItem>
      ))}
    </BaseMenu.RadioGroup>
  );
}

interface MenuChecksProps<T extends string> {
  values: readonly T[];
  options: readonly { value: T; label: string }[];
  onChange: (values: T[]) => void;
}

/** Checkbox items within a menu, which stays open. */
export const MenuChecks = <T extends string>({ values, options, onChange }: MenuChecksProps<T>) =>
  options.map(({ value, label }) => (
    <BaseMenu.CheckboxItem
      key={value}
      checked={values.includes(value)}
      closeOnClick={false}
      onCheckedChange={(checked) => onChange(checked ? [...values, value] : values.filter((other) => other !== value))}
      className={itemClass}
    >
      <span className="flex-1">{label}</span>
      <BaseMenu.CheckboxItemIndicator>
        <Icon name="check" className="text-accent size-3.5" />
      </BaseMenu.CheckboxItemIndicator>
    </BaseMenu.CheckboxItem>
  ));

export const MenuSeparator = () => <BaseMenu.Separator className="bg-line mx-1 my-1 h-px" />;

/** A menu item group with a title. */
export const MenuSection = ({ title, children }: { title: ReactNode; children: ReactNode }) => (
  <BaseMenu.Group>
    <BaseMenu.GroupLabel className="text-faint px-2 py-1 text-xs">{title}</BaseMenu.GroupLabel>
    {children}
  </BaseMenu.Group>
);

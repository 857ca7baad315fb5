import { Select as Base } from "@base-ui/react/select";
import { classNames, controlClass, itemClass, popupClass } from "../class-names.ts";

import { Icon } from "../icon.tsx";

export interface Option<T extends string = string> {
  value: T;
  label: string;
}

interface SelectProps<T extends string> {
  options: readonly Option<T>[];
  value: T;
  onChange: (value: T) => void;
  label?: string;
  disabled?: boolean;
  /** Shows `label` before the chosen option. */
  named?: boolean;
  /** Opens the list when the select appears. */
  defaultOpen?: boolean;
  className?: string;
}

/** A select. `label` is the accessible name if no Field gives one. */
export function Select<T extends string>(props: SelectProps<T>) {
  const { options, value, onChange, label, disabled = false, named = false, defaultOpen = false, className } = props;
  return (
    <Base.Root
      items={options}
      value={value}
      onValueChange={(next) => next !== null && onChange(next)}
      disabled={disabled}
      defaultOpen={defaultOpen}
      modal={false}
    >
      <Base.Trigger
        aria-label={label}
        className={controlClass(classNames("flex items-center justify-between gap-2 text-left", className))}
      >
        <span className="min-w-0 truncate">
          {named && <span className="text-muted">{label}: </span>}
          <Base.Value />
        </span>
        <Icon name="upDown" className="text-faint size-3.5" />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
          <Base.Popup className={popupClass}>
            {options.map((option) => (
              <Base.Item key={option.value} value={option.value} className={itemClass}>
                <Base.ItemText className="flex-1 truncate">{option.label}</Base.ItemText>
                <Base.ItemIndicator>
                  <Icon name="check" className="text-accent size-3.5" />
                </Base.ItemIndicator>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

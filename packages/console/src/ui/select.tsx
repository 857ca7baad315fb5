import { Select as Base } from "@base-ui/react/select";
import { classNames } from "./class-names.ts";
import { controlClass } from "./control-class.ts";
import { Icon } from "./icon.tsx";

export const popupClass =
  "rises border-line bg-raised text-text shadow-raised max-h-(--available-height) min-w-(--anchor-width) max-w-(--available-width) overflow-y-auto rounded-lg border p-1 text-sm outline-none";

export const itemClass =
  "flex min-h-8 cursor-default items-center gap-2 rounded-md px-2 py-1 outline-none select-none data-highlighted:bg-hover data-disabled:opacity-50 sm:min-h-7";

export interface Option<T extends string = string> {
  value: T;
  label: string;
}

/** One of a short list. `label` names it where no Field does. */
export function Select<T extends string>({
  options,
  value,
  onChange,
  label,
  disabled = false,
  className,
}: {
  options: readonly Option<T>[];
  value: T;
  onChange: (value: T) => void;
  label?: string;
  disabled?: boolean;
  className?: string;
}) {
  return (
    <Base.Root
      items={options}
      value={value}
      onValueChange={(next) => next !== null && onChange(next)}
      disabled={disabled}
      modal={false}
    >
      <Base.Trigger
        aria-label={label}
        className={controlClass(classNames("flex items-center justify-between gap-2 text-left", className))}
      >
        <Base.Value className="truncate" />
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

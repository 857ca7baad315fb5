import { Checkbox as BaseCheckbox } from "@base-ui/react/checkbox";
import { Switch as BaseSwitch } from "@base-ui/react/switch";
import { Toggle } from "@base-ui/react/toggle";
import { ToggleGroup } from "@base-ui/react/toggle-group";
import type { ReactNode } from "react";
import { Icon, type IconName } from "../icon.tsx";

interface CheckProps {
  label: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  disabled?: boolean;
}

export const Checkbox = ({ label, checked, onChange, disabled = false }: CheckProps) => (
  <label className="inline-flex items-center gap-2 text-sm">
    <BaseCheckbox.Root
      checked={checked}
      onCheckedChange={onChange}
      disabled={disabled}
      className="border-edge data-checked:border-accent-fill data-checked:bg-accent-fill text-on-accent bg-surface flex size-4 shrink-0 items-center justify-center rounded border"
    >
      <BaseCheckbox.Indicator>
        <Icon name="check" className="size-3" />
      </BaseCheckbox.Indicator>
    </BaseCheckbox.Root>
    {label}
  </label>
);

export const Switch = ({ label, checked, onChange, disabled = false }: CheckProps) => (
  <label className="inline-flex items-center gap-2 text-sm">
    <BaseSwitch.Root
      checked={checked}
      onCheckedChange={onChange}
      disabled={disabled}
      className="bg-edge data-checked:bg-accent-fill flex h-4.5 w-8 shrink-0 rounded-full p-0.5 transition-colors"
    >
      <BaseSwitch.Thumb className="size-3.5 rounded-full bg-[#fff] transition-transform data-checked:translate-x-3.5" />
    </BaseSwitch.Root>
    {label}
  </label>
);

interface SegmentedProps<T extends string> {
  label: string;
  options: readonly { value: T; label: string; icon?: IconName }[];
  value: T;
  onChange: (value: T) => void;
}

/** A segmented control: a choice among a few visible options. */
export function Segmented<T extends string>({ label, options, value, onChange }: SegmentedProps<T>) {
  return (
    <ToggleGroup
      aria-label={label}
      value={[value]}
      onValueChange={([next]) => next !== undefined && onChange(next)}
      className="border-line bg-sunken inline-flex rounded-md border p-0.5"
    >
      {options.map((option) => (
        <Toggle
          key={option.value}
          value={option.value}
          className="text-muted hover:text-text data-pressed:bg-surface data-pressed:text-text data-pressed:shadow-card inline-flex h-6 items-center gap-1.5 rounded px-2 text-xs font-medium"
        >
          {option.icon && <Icon name={option.icon} className="size-3.5" />}
          {option.label}
        </Toggle>
      ))}
    </ToggleGroup>
  );
}

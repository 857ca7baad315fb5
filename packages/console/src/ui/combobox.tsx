import { Autocomplete } from "@base-ui/react/autocomplete";
import { classNames } from "./class-names.ts";
import { controlClass } from "./control-class.ts";
import { itemClass, popupClass } from "./select.tsx";

/** A text that is mostly one of `suggestions`, but may be another: a role, a function's name. */
export function Combobox({
  suggestions,
  value,
  onChange,
  label,
  placeholder,
  className,
}: {
  suggestions: readonly string[];
  value: string;
  onChange: (value: string) => void;
  label?: string;
  placeholder?: string;
  className?: string;
}) {
  return (
    <Autocomplete.Root items={suggestions} value={value} onValueChange={onChange} openOnInputClick>
      <Autocomplete.Input
        aria-label={label}
        placeholder={placeholder}
        spellCheck={false}
        className={controlClass(className)}
      />
      <Autocomplete.Portal>
        <Autocomplete.Positioner sideOffset={4} className="z-50">
          <Autocomplete.Popup className={classNames(popupClass, "data-empty:hidden")}>
            <Autocomplete.List>
              {(suggestion: string) => (
                <Autocomplete.Item key={suggestion} value={suggestion} className={itemClass}>
                  {suggestion}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}

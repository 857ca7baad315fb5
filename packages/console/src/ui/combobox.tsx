import { Autocomplete } from "@base-ui/react/autocomplete";
import { classNames, controlClass, itemClass, popupClass } from "./class-names.ts";

import { Icon } from "./icon.tsx";

/** A text field with suggestions that accepts any text: a role, a function name. */
export function Combobox({
  suggestions,
  value,
  onChange,
  label,
  placeholder,
  className,
  clearable = false,
}: {
  suggestions: readonly string[];
  value: string;
  onChange: (value: string) => void;
  label?: string;
  placeholder?: string;
  className?: string;
  /** Adds a button that clears the field. */
  clearable?: boolean;
}) {
  return (
    <Autocomplete.Root
      items={suggestions}
      value={value}
      onValueChange={onChange}
      openOnInputClick
      // Show all suggestions when the value is one of them, so that another can be chosen.
      {...(suggestions.includes(value) && { filter: null })}
    >
      <span className={clearable ? classNames("relative min-w-0", className) : "contents"}>
        <Autocomplete.Input
          aria-label={label}
          placeholder={placeholder}
          spellCheck={false}
          className={controlClass(clearable ? "pr-7" : className)}
        />
        {clearable && (
          <Autocomplete.Clear
            aria-label={`Clear ${label?.toLowerCase() ?? "this"}`}
            className="text-muted hover:text-text absolute inset-y-0 right-0 flex w-7 items-center justify-center rounded-md"
          >
            <Icon name="close" className="size-3" />
          </Autocomplete.Clear>
        )}
      </span>
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

import { Autocomplete } from "@base-ui/react/autocomplete";
import { useState } from "react";
import { classNames, controlClass, itemClass, popupClass } from "../class-names.ts";

import { Icon } from "../icon.tsx";

interface ComboboxProps {
  suggestions: readonly string[];
  /** A few words after a suggestion, such as a price. */
  about?: (suggestion: string) => string | undefined;
  value: string;
  onChange: (value: string) => void;
  /** Called with a chosen suggestion, after `onChange`. */
  onChoice?: (value: string) => void;
  label?: string;
  placeholder?: string;
  className?: string;
  /** Adds a button that clears the field. */
  clearable?: boolean;
  readOnly?: boolean;
  /** Focuses the field and opens its list when it appears. */
  defaultOpen?: boolean;
}

/** A text field with suggestions that accepts any text: a role, a function name. */
export function Combobox(props: ComboboxProps) {
  const { suggestions, about, value, onChange, onChoice, label, placeholder, className } = props;
  const { clearable = false, readOnly = false, defaultOpen = false } = props;
  const [open, setOpen] = useState(defaultOpen);
  const { contains } = Autocomplete.useFilter();
  // An open list, even an empty one, hides the page's rest from screen readers.
  const matches = suggestions.includes(value) || suggestions.some((suggestion) => contains(suggestion, value));
  return (
    <Autocomplete.Root
      open={open && matches}
      onOpenChange={setOpen}
      items={suggestions}
      value={value}
      onValueChange={(next, { reason }) => {
        onChange(next);
        if (reason === "item-press") onChoice?.(next);
      }}
      readOnly={readOnly}
      openOnInputClick
      // Show all suggestions when the value is among them, so that another can be chosen.
      {...(suggestions.includes(value) && { filter: null })}
    >
      <span className={clearable ? classNames("relative min-w-0", className) : "contents"}>
        <Autocomplete.Input
          aria-label={label}
          autoFocus={defaultOpen}
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
          <Autocomplete.Popup className={popupClass}>
            <Autocomplete.List>
              {(suggestion: string) => (
                <Autocomplete.Item key={suggestion} value={suggestion} className={itemClass}>
                  <span className="min-w-0 flex-1 truncate">{suggestion}</span>
                  <span className="text-muted text-xs">{about?.(suggestion)}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}

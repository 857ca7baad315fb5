import { useEffect, useState } from "react";
import { controlClass } from "../class-names.ts";
import { Icon } from "../icon.tsx";

interface SearchFieldProps {
  label: string;
  value: string | undefined;
  /** Called when typing pauses; with an empty string when the field is cleared. */
  onChange: (value: string) => void;
}

/** A list's search field. `/` focuses it. */
export function SearchField({ label, value, onChange }: SearchFieldProps) {
  const [draft, setDraft] = useDraft(value ?? "", onChange);
  return (
    <div className="relative w-full sm:w-60">
      <Icon name="search" className="text-faint pointer-events-none absolute top-2 left-2.5 size-4" />
      <input
        type="search"
        data-search-field=""
        aria-label={label}
        placeholder={label}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        className={controlClass("pl-8")}
      />
    </div>
  );
}

const TYPING_MS = 300;

/** Debounced text: calls `onChange` when typing pauses. An outside change to `value` replaces the draft. */
function useDraft(value: string, onChange: (value: string) => void) {
  const [draft, setDraft] = useState(value);
  const [reported, setReported] = useState(value);
  if (value !== reported) {
    setReported(value);
    setDraft(value);
  }
  useEffect(() => {
    const text = draft.trim();
    if (text === reported) return undefined;
    const timer = setTimeout(() => {
      setReported(text);
      onChange(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [draft, reported, onChange]);
  return [draft, setDraft] as const;
}

import { useEffect, useState } from "react";
import { controlClass } from "./control-class.ts";
import { Icon } from "./icon.tsx";

/** Narrows a list by words; / goes to it. */
export function SearchField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  /** Told when typing pauses; the empty text where it was cleared. */
  onChange: (value: string) => void;
}) {
  const [draft, setDraft] = useDraft(value ?? "", onChange);
  return (
    <div className="relative w-full sm:w-64">
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

/** Keeps what is being typed, and tells it on when typing pauses. A value changed from elsewhere takes its place. */
export function useDraft(value: string, onChange: (value: string) => void) {
  const [draft, setDraft] = useState(value);
  const [told, setTold] = useState(value);
  if (value !== told) {
    setTold(value);
    setDraft(value);
  }
  useEffect(() => {
    const text = draft.trim();
    if (text === told) return undefined;
    const timer = setTimeout(() => {
      setTold(text);
      onChange(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [draft, told, onChange]);
  return [draft, setDraft] as const;
}

import { useEffect, useEffectEvent } from "react";

/** True when the focused element handles keys itself: a field, or an open menu, list or dialog. */
export function handlesKeys(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.closest("input, textarea, select, [role=menu], [role=listbox], [role=dialog], [role=treegrid]") !== null
  );
}

/** Calls `act` for each key on the page; with `capture`, before the elements. */
export function useKeydown(act: (event: KeyboardEvent) => void, { capture = false } = {}): void {
  const onKey = useEffectEvent(act);
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => onKey(event);
    document.addEventListener("keydown", listener, { capture });
    return () => document.removeEventListener("keydown", listener, { capture });
  }, [capture]);
}

/** Calls `act` for a key pressed without a modifier and outside fields. `act` returns true when it used the key. */
export const useHotkeys = (act: (key: string, event: KeyboardEvent) => boolean): void =>
  useKeydown((event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || handlesKeys(event.target)) return;
    if (act(event.key, event)) event.preventDefault();
  });

import { useEffect, useEffectEvent } from "react";

/** True while keys belong to what the focus is in: a field, or a menu, list or dialog that is open. */
export function typingIn(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.closest("input, textarea, select, [role=menu], [role=listbox], [role=dialog], [role=treegrid]") !== null
  );
}

/** Calls `act` for a key pressed alone, outside fields. It returns true where it used the key. */
export function useHotkeys(act: (key: string, event: KeyboardEvent) => boolean): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || typingIn(event.target)) return;
    if (act(event.key, event)) event.preventDefault();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => onKey(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}

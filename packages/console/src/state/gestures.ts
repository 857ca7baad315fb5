let repeats = false;

/** Notes whether the event in progress continues a gesture. Call it once for the page. */
export function watchGestures(): void {
  const note = (continues: boolean): void => {
    repeats = continues;
    // Only this event's handlers see it: an event that is not watched would keep it.
    if (continues) setTimeout(() => (repeats = false));
  };
  // A key dispatches a click with 0 clicks after its own event.
  addEventListener("click", ({ detail }) => detail > 0 && note(detail > 1), { capture: true });
  addEventListener("keydown", ({ repeat }) => note(repeat), { capture: true });
}

/** True in handlers for a double click's second click, and for a held key. */
export const isRepeatedGesture = (): boolean => repeats;

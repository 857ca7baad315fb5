/**
 * Focuses an element on a loaded page, unless the focus is in a dialog that the member has opened meanwhile, such as
 * the search: the dialog would lose the keys that follow.
 */
export function focusOnArrival(element: HTMLElement | null | undefined): void {
  const isInDialog = document.activeElement?.closest("[role=dialog]:not([data-closed])") != null;
  if (!isInDialog) element?.focus({ preventScroll: true });
}

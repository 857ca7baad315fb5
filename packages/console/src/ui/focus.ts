/**
 * Focuses an element of a page that has loaded, unless the member has opened a dialog meanwhile, such as the search, and is in it:
 * its keys would be lost.
 */
export function focusOnArrival(element: HTMLElement | null | undefined): void {
  const isInDialog = document.activeElement?.closest("[role=dialog]:not([data-closed])") != null;
  if (!isInDialog) element?.focus({ preventScroll: true });
}

/** Joins class names; skips false and undefined. */
export const classNames = (...names: (string | false | undefined)[]): string => names.filter(Boolean).join(" ");

const CONTROL =
  "h-8 min-w-0 rounded-md border border-edge/60 bg-surface px-2.5 text-base text-text transition-colors hover:border-edge focus-visible:outline-offset-0 aria-invalid:border-bad data-invalid:border-bad data-disabled:opacity-60 sm:text-sm";

/** Classes for inputs and selects. Full width unless `className` sets a width. */
export const controlClass = (className = ""): string =>
  classNames(CONTROL, /(^| )w-/.test(className) ? undefined : "w-full", className);

export const popupClass =
  "rises border-line bg-raised text-text shadow-raised max-h-(--available-height) min-w-(--anchor-width) max-w-(--available-width) overflow-y-auto rounded-lg border p-1 text-sm outline-none";

export const itemClass =
  "flex min-h-8 cursor-default items-center gap-2 rounded-md px-2 py-1 outline-none select-none data-highlighted:bg-hover data-disabled:opacity-50 sm:min-h-7";

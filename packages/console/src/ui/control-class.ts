/** What every field that is typed or chosen in looks like. */
export const controlClass =
  "h-8 w-full min-w-0 rounded-md border border-edge/60 bg-surface px-2.5 text-base text-text transition-colors hover:border-edge focus-visible:outline-offset-0 aria-invalid:border-bad data-invalid:border-bad data-disabled:opacity-60 sm:text-sm";

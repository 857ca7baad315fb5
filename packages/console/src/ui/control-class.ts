import { classNames } from "./class-names.ts";

const CONTROL =
  "h-8 min-w-0 rounded-md border border-edge/60 bg-surface px-2.5 text-base text-text transition-colors hover:border-edge focus-visible:outline-offset-0 aria-invalid:border-bad data-invalid:border-bad data-disabled:opacity-60 sm:text-sm";

/** What every field that is typed or chosen in looks like. It is as wide as its place unless `className` gives a width. */
export const controlClass = (className = ""): string =>
  classNames(CONTROL, /(^| )w-/.test(className) ? undefined : "w-full", className);

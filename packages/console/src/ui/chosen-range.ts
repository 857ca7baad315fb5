import type { RangeSearch } from "../format/time-range.ts";
import { tabState } from "../state/signals.ts";

/** The time range that the member chose last on any page. Not in `time-range.tsx`: the menu reads it before any picker is loaded. */
export const chosenRange = tabState<RangeSearch>("range");

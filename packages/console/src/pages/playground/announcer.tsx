import { isRunning } from "./lane.ts";
import type { Shown } from "./use-lane.ts";

/** Tells screen readers how the newest answer stands; its tokens would be too many. */
export function Announcer({ shown }: { shown: readonly (Shown | undefined)[] }) {
  return (
    <p role="status" className="sr-only">
      {shown.map((one) => one?.live && saidOf(one.live)).join(" ")}
    </p>
  );
}

function saidOf(live: NonNullable<Shown["live"]>): string {
  const { end, steps } = live.told;
  if (end?.ok) return "Answered.";
  if (end) return end.code === "cancelled" ? "Cancelled." : `Failed: ${end.errorMessage}.`;
  if (!isRunning(live)) return "";
  const last = steps.at(-1);
  return last?.kind === "call" ? `Calling ${last.call.name}.` : "Running.";
}

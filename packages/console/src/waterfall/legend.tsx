import { Kbd } from "../ui/kbd.tsx";

const MARKS = [
  ["bg-series-1", "model"],
  ["bg-series-2", "function"],
  ["bar-waiting text-mark-idle", "waiting"],
  ["bar-denied", "denied"],
  ["bg-mark-bad", "failed"],
  ["bar-gap", "nothing known"],
] as const;

const KEYS = [
  ["p", "parent"],
  ["n", "next failure"],
  ["Enter", "details"],
] as const;

/** What colours and patterns mean, and the keys. */
export function Legend() {
  return (
    <div className="border-line text-muted flex flex-wrap items-center justify-between gap-x-6 gap-y-2 border-t px-4 py-2 text-xs">
      <ul className="flex flex-wrap items-center gap-x-4 gap-y-1">
        {MARKS.map(([look, word]) => (
          <li key={word} className="inline-flex items-center gap-1.5">
            <span aria-hidden="true" className={`h-2.5 w-4 rounded-sm ${look}`} />
            {word}
          </li>
        ))}
      </ul>
      <ul className="flex flex-wrap items-center gap-x-4 gap-y-1 max-sm:hidden">
        {KEYS.map(([key, word]) => (
          <li key={key} className="inline-flex items-center gap-1.5">
            <Kbd keys={key} /> {word}
          </li>
        ))}
      </ul>
    </div>
  );
}

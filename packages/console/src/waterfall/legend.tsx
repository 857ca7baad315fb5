import { Button } from "../ui/button.tsx";
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
  ["t", "top"],
  ["Enter", "details"],
] as const;

/** What colours and patterns mean, and the keys. `onTrouble` goes to the next span that failed or was denied, where there is one. */
export function Legend({ onTrouble }: { onTrouble: (() => void) | undefined }) {
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
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        {KEYS.map(([key, word]) => (
          <span key={key} className="inline-flex items-center gap-1.5 max-sm:hidden">
            <Kbd keys={key} /> {word}
          </span>
        ))}
        {onTrouble && (
          <Button size="small" look="ghost" icon="down" className="-mx-1" onClick={onTrouble}>
            Next failure <Kbd keys="n" />
          </Button>
        )}
      </div>
    </div>
  );
}

const APPLE = /Mac|iP(hone|ad|od)/.test(globalThis.navigator?.userAgent ?? "");

/** A key, or keys pressed one after the other; `mod` is Cmd on Apple machines, Ctrl elsewhere. */
export function Kbd({ keys }: { keys: string }) {
  return (
    <span className="inline-flex shrink-0 gap-0.5 whitespace-nowrap">
      {keys.split(" ").map((key, index) => (
        <kbd
          // Keys of one list may repeat, and never move.
          key={`${key}${index}`}
          className="border-line bg-sunken text-muted text-2xs inline-flex h-4.5 min-w-4.5 items-center justify-center rounded border px-1 font-sans"
        >
          {key === "mod" ? (APPLE ? "⌘" : "Ctrl") : key}
        </kbd>
      ))}
    </span>
  );
}

/** What a person asked, as it was typed. */
export function Asked({ text, children }: { text: string; children?: React.ReactNode }) {
  return (
    <div className="group/asked flex min-w-0 items-start justify-end gap-1">
      {children}
      <p className="bg-accent-soft max-w-[min(100%,75ch)] min-w-0 rounded-lg rounded-tr-sm px-3 py-2 whitespace-pre-wrap">
        <span className="sr-only">Asked: </span>
        {text}
      </p>
    </div>
  );
}

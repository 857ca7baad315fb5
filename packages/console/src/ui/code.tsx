import { type ReactNode, useState } from "react";
import { countOf } from "../format/numbers.ts";
import { classNames } from "./class-names.ts";
import { CopyButton } from "./copy.tsx";

/** Preformatted text in a scrollable box with a copy button. */
export const CodeBlock = ({ text, title, wrap = false }: { text: string; title?: ReactNode; wrap?: boolean }) => (
  <div className="border-line bg-sunken min-w-0 rounded-lg border">
    {title !== undefined && <div className="border-line text-muted border-b px-3 py-1.5 text-xs">{title}</div>}
    <div className="flex items-start">
      <pre
        tabIndex={0}
        className={classNames(
          "max-h-120 min-w-0 flex-1 overflow-auto py-2.5 pl-3 font-mono text-xs leading-5",
          wrap && "break-words whitespace-pre-wrap",
        )}
      >
        {text}
      </pre>
      {/* Next to the text, not over it: a narrow block has no space to spare. */}
      <div className="shrink-0 p-1">
        <CopyButton text={text} />
      </div>
    </div>
  </div>
);

/** A shell command with a copy button. */
export const Command = ({ text }: { text: string }) => (
  <div className="border-line bg-sunken flex min-w-0 items-center gap-1 rounded-lg border py-0.5 pr-1 pl-3 text-left">
    <code tabIndex={0} className="min-w-0 flex-1 overflow-x-auto py-1 font-mono text-xs whitespace-pre">
      <span aria-hidden="true" className="text-faint select-none">
        ${" "}
      </span>
      {text}
    </code>
    <CopyButton text={text} label="Copy command" />
  </div>
);

/** A JSON value as a tree. Deep and long values start collapsed and render when they are expanded. */
export const Json = ({ value, name }: { value: unknown; name?: string }) => (
  <div className="border-line bg-sunken relative min-w-0 rounded-lg border">
    <div
      role="region"
      tabIndex={0}
      aria-label={name ?? "JSON"}
      className="max-h-120 overflow-auto py-2.5 pr-11 pl-3 font-mono text-xs leading-5"
    >
      <Node value={value} depth={0} />
    </div>
    <div className="bg-sunken absolute top-1 right-1 rounded-md">
      <CopyButton text={() => JSON.stringify(value, null, 2) ?? ""} label="Copy JSON" />
    </div>
  </div>
);

const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 20;
const ENTRIES_AT_ONCE = 200;

function Node({ value, depth, name }: { value: unknown; depth: number; name?: string }) {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const [open, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= OPEN_ENTRIES);
  const [shown, setShown] = useState(ENTRIES_AT_ONCE);
  const label = name !== undefined && <span className="text-accent">{name}: </span>;
  if (entries.length === 0)
    return (
      <div className="pl-4 break-words whitespace-pre-wrap">
        {label}
        <Leaf value={value} />
      </div>
    );
  const isArray = Array.isArray(value);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="hover:bg-hover rounded py-0.5">
        {label}
        <span className="text-muted">
          {isArray ? "[" : "{"}
          {!open &&
            ` ${isArray ? countOf(entries.length, "item") : countOf(entries.length, "property", "properties")} ${isArray ? "]" : "}"}`}
        </span>
      </summary>
      {open && (
        <div className="border-line ml-1.5 border-l pl-2.5">
          {entries.slice(0, shown).map(([key, entry]) => (
            <Node key={key} name={key} value={entry} depth={depth + 1} />
          ))}
          {entries.length > shown && (
            <button type="button" className="text-accent pl-4 underline" onClick={() => setShown(shown * 5)}>
              Show {entries.length - shown} more
            </button>
          )}
        </div>
      )}
      {open && <span className="text-muted pl-4">{isArray ? "]" : "}"}</span>}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string") return <span className="text-ok">{JSON.stringify(value)}</span>;
  if (typeof value === "number") return <span className="text-info">{String(value)}</span>;
  if (typeof value === "boolean" || value === null) return <span className="text-warn">{String(value)}</span>;
  return <span className="text-muted">{value === undefined ? "not set" : JSON.stringify(value)}</span>;
}

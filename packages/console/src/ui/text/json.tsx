import { createContext, type ReactNode, useContext, useDeferredValue, useMemo, useState } from "react";
import { countOf } from "../../format/numbers.ts";
import { IconButton } from "../button.tsx";
import { classNames, controlClass } from "../class-names.ts";
import { CopyButton } from "../copy.tsx";
import { Dialog } from "../form/dialog.tsx";

interface JsonProps {
  value: unknown;
  name?: string;
  /** True if all nodes start expanded. Default: by depth and length. */
  open?: boolean;
}

/** A smaller value is in view as a whole, and needs no tools. */
const LARGE_UNITS = 600;

/** A JSON value as a tree. Deep and long values start collapsed and render when they are expanded. Large ones can be searched. */
export function Json({ value, name = "JSON", open }: JsonProps) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "", [value]);
  const [wide, setWide] = useState(false);
  const copy = <CopyButton text={text} label="Copy JSON" />;
  if (text.length < LARGE_UNITS)
    return (
      <Box className="relative">
        <Tree value={value} name={name} open={open} className="pr-11" />
        <div className="bg-sunken absolute top-1 right-1 rounded-md">{copy}</div>
      </Box>
    );
  return (
    <Box>
      <LargeJson value={value} name={name} text={text} open={open}>
        <IconButton icon="expand" label="Full width" size="small" onClick={() => setWide(true)} />
        {copy}
      </LargeJson>
      <Dialog open={wide} onClose={() => setWide(false)} title={name} full>
        <Box>
          <LargeJson value={value} name={`${name}, full width`} text={text} open={open} tall>
            {copy}
          </LargeJson>
        </Box>
      </Dialog>
    </Box>
  );
}

const Box = ({ className, children }: { className?: string; children: ReactNode }) => (
  <div className={classNames("border-line bg-sunken min-w-0 rounded-lg border", className)}>{children}</div>
);

interface LargeJsonProps {
  value: unknown;
  name: string;
  open: boolean | undefined;
  text: string;
  tall?: boolean;
  /** Further tools. */
  children: ReactNode;
}

/** The value with its tools: search, expand and collapse, and its text. */
function LargeJson({ value, name, text, open: opened, tall = false, children }: LargeJsonProps) {
  const [search, setSearch] = useState("");
  const [raw, setRaw] = useState(false);
  const [open, setOpen] = useState(opened);
  const query = useDeferredValue(search.trim().toLowerCase());
  const matches = useMemo(() => (query === "" ? undefined : matchesOf(value, query)), [value, query]);
  const height = tall ? "max-h-[70dvh]" : undefined;
  return (
    <>
      <div className="border-line flex flex-wrap items-center gap-1 border-b p-1">
        <input
          type="search"
          aria-label={`Search in ${name}`}
          placeholder="Search"
          value={search}
          disabled={raw}
          onChange={(event) => setSearch(event.target.value)}
          className={controlClass("h-7 min-w-24 flex-1 text-xs")}
        />
        <span role="status" className="text-muted px-1 text-xs empty:hidden">
          {matches && countOf(matches.count, "match", "matches")}
        </span>
        <IconButton
          icon={open ? "fold" : "unfold"}
          label={open ? "Collapse all" : "Expand all"}
          size="small"
          disabled={raw || matches !== undefined}
          onClick={() => setOpen(!open)}
        />
        <IconButton icon="code" label="Show as text" size="small" aria-pressed={raw} onClick={() => setRaw(!raw)} />
        {children}
      </div>
      {raw ? (
        <pre
          tabIndex={0}
          aria-label={`${name} as text`}
          className={classNames(
            "max-h-120 overflow-auto p-3 font-mono text-xs leading-5 break-words whitespace-pre-wrap",
            height,
          )}
        >
          {text}
        </pre>
      ) : (
        <Matches value={matches}>
          {/* A new key resets which nodes are open. */}
          <Tree key={`${open} ${query}`} value={value} name={name} open={open} className={classNames("pr-3", height)} />
        </Matches>
      )}
    </>
  );
}

interface Found {
  query: string;
  count: number;
  /** The objects and lists that contain a match or are one. */
  nodes: ReadonlySet<unknown>;
}

const MatchesContext = createContext<Found | undefined>(undefined);
const Matches = MatchesContext.Provider;

/** A text's matches in names and values. Only their branches are shown. */
function matchesOf(value: unknown, query: string): Found {
  const nodes = new Set<unknown>();
  let count = 0;
  const visit = (node: unknown): boolean => {
    if (!isNode(node)) return false;
    let found = false;
    for (const [name, entry] of Object.entries(node)) {
      const own = contains(Array.isArray(node) ? undefined : name, entry, query);
      if (own) count += 1;
      if (visit(entry) || own) found = true;
    }
    if (found) nodes.add(node);
    return found;
  };
  visit(value);
  return { query, count, nodes };
}

const isNode = (value: unknown): value is object => typeof value === "object" && value !== null;

const contains = (name: string | undefined, value: unknown, query: string): boolean =>
  (name?.toLowerCase().includes(query) ?? false) || (!isNode(value) && String(value).toLowerCase().includes(query));

interface TreeProps {
  value: unknown;
  name: string;
  /** Whether all nodes start expanded or collapsed. Default: by depth and length. */
  open?: boolean | undefined;
  className?: string;
}

const Tree = ({ value, name, open, className }: TreeProps) => (
  <div
    role="region"
    tabIndex={0}
    aria-label={name}
    className={classNames("max-h-120 overflow-auto py-2.5 pl-3 font-mono text-xs leading-5", className)}
  >
    <Node value={value} depth={0} all={open} />
  </div>
);

const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 20;
const ENTRIES_AT_ONCE = 200;

function Node({ value, depth, all, name }: { value: unknown; depth: number; all: boolean | undefined; name?: string }) {
  const found = useContext(MatchesContext);
  const whole = isNode(value) ? Object.entries(value) : [];
  const isArray = Array.isArray(value);
  const entries =
    found?.nodes.has(value) === true
      ? whole.filter(
          ([key, entry]) => found.nodes.has(entry) || contains(isArray ? undefined : key, entry, found.query),
        )
      : whole;
  const openAtFirst = found
    ? found.nodes.has(value) || depth === 0
    : (all ?? (depth < OPEN_DEPTH && entries.length <= OPEN_ENTRIES));
  const [open, setOpen] = useState(openAtFirst);
  const [shown, setShown] = useState(ENTRIES_AT_ONCE);
  const label = name !== undefined && (
    <span className="text-accent">
      <Marked text={name} />:{" "}
    </span>
  );
  if (entries.length === 0)
    return (
      <div className="pl-4 break-words whitespace-pre-wrap">
        {label}
        <Leaf value={value} />
      </div>
    );
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="hover:bg-hover rounded py-0.5">
        {label}
        <span className="text-muted">
          {isArray ? "[" : "{"}
          {!open &&
            ` ${isArray ? countOf(whole.length, "item") : countOf(whole.length, "property", "properties")} ${isArray ? "]" : "}"}`}
        </span>
      </summary>
      {open && (
        <div className="border-line ml-1.5 border-l pl-2.5">
          {entries.slice(0, shown).map(([key, entry]) => (
            <Node key={key} name={key} value={entry} depth={depth + 1} all={all} />
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
  const text = value === undefined ? "not set" : JSON.stringify(value);
  const tone = value === null ? "text-warn" : (TONES[typeof value] ?? "text-muted");
  return (
    <span className={tone}>
      <Marked text={text} />
    </span>
  );
}

const TONES: Record<string, string> = { string: "text-ok", number: "text-info", boolean: "text-warn" };

/** A text with its search matches marked. */
function Marked({ text }: { text: string }) {
  const query = useContext(MatchesContext)?.query;
  const at = query === undefined ? -1 : text.toLowerCase().indexOf(query);
  if (query === undefined || at === -1) return text;
  const end = at + query.length;
  return (
    <>
      {text.slice(0, at)}
      <mark className="bg-accent-soft text-text rounded-xs">{text.slice(at, end)}</mark>
      {text.slice(end)}
    </>
  );
}

import { type ReactNode, useEffect, useEffectEvent, useId, useRef } from "react";
import { ApiError } from "../api/api-error.ts";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Command } from "./code.tsx";
import { CopyButton } from "./copy.tsx";
import { focusOnArrival } from "./focus.ts";
import { Icon, type IconName } from "./icon.tsx";
import { Notice } from "./notice.tsx";

/** Appended to the document title. */
const PRODUCT = "Patchbay";

interface PageHeaderProps {
  /** The document title, and the heading unless `name` is given. */
  title: string;
  /** The heading's content, if it is more than the title. */
  name?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  /** Below the heading: tabs, filters. */
  children?: ReactNode;
}

/** A page's only h1. Sets the document title and takes the focus after navigation. */
export function PageHeader({ title, name = title, description, actions, children }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
  useEffect(() => {
    // Leave the focus to the browser on the first load; after navigation, start at the new page's heading.
    if (document.documentElement.dataset["navigated"] !== undefined) focusOnArrival(heading.current);
  }, []);
  return (
    <header className="mb-5 flex flex-col gap-3">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        {/* Without a description, the title may be narrow. */}
        <div className={classNames("min-w-0 flex-1", description === undefined ? "basis-48" : "basis-72")}>
          <h1 ref={heading} tabIndex={-1} className="text-xl font-semibold tracking-tight text-balance">
            {name}
          </h1>
          {description !== undefined && <p className="text-muted mt-0.5 max-w-prose text-pretty">{description}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {children}
    </header>
  );
}

export interface CardProps {
  title?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  stacked?: boolean;
  className?: string;
  children: ReactNode;
}

/** A page section with a title. `flush` omits the padding, for tables and charts with their own; `stacked` separates its parts. */
export function Card({ title, description, actions, flush = false, stacked = false, className, children }: CardProps) {
  const id = useId();
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className={classNames("border-line bg-surface shadow-card min-w-0 rounded-lg border", className)}
    >
      {title !== undefined && (
        <header className="border-line flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b px-4 py-2.5">
          <div className="min-w-0 flex-1 basis-40">
            <h2 id={id} className="text-base font-semibold">
              {title}
            </h2>
            {description !== undefined && <p className="text-muted text-sm">{description}</p>}
          </div>
          {actions}
        </header>
      )}
      <div className={classNames(flush ? "min-w-0" : "p-4", stacked && "grid gap-4 *:min-w-0")}>{children}</div>
    </section>
  );
}

/** A name and its value. */
export type Fact = readonly [name: ReactNode, value: ReactNode];

/** Name and value pairs; skips false. */
export const Facts = ({ items }: { items: readonly (Fact | false)[] }) => (
  <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-6 gap-y-2 text-sm">
    {items
      .filter((item) => item !== false)
      .map(([name, value], index) => (
        // The fact order is fixed.
        <div key={index} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="min-w-0">{value}</dd>
        </div>
      ))}
  </dl>
);

interface SectionProps {
  title: ReactNode;
  /** For a part of a card: with a smaller title. */
  small?: boolean;
  children: ReactNode;
}

/** A part of a panel or a card, with a title. */
export const Section = ({ title, small = false, children }: SectionProps) => (
  <section className={classNames("grid min-w-0", small ? "gap-1" : "gap-2")}>
    <h3 className={small ? "text-muted text-xs font-medium" : "font-semibold"}>{title}</h3>
    {children}
  </section>
);

interface EmptyStateProps {
  icon?: IconName;
  title: string;
  children?: ReactNode;
  command?: string;
  action?: ReactNode;
}

/** An empty state: the reason, the next step and its command. */
export const EmptyState = ({ icon = "info", title, children, command, action }: EmptyStateProps) => (
  <div className="mx-auto flex max-w-xl flex-col items-center gap-3 px-4 py-12 text-center">
    <span className="border-line bg-sunken text-muted rounded-lg border p-2.5">
      <Icon name={icon} className="size-5" />
    </span>
    <div>
      <p className="font-semibold">{title}</p>
      {children !== undefined && <p className="text-muted mt-1 text-pretty">{children}</p>}
    </div>
    {command !== undefined && (
      <div className="w-full">
        <Command text={command} />
      </div>
    )}
    {action}
  </div>
);

interface ErrorStateProps {
  error: unknown;
  /** False below a heading that says what failed. */
  titled?: boolean;
  onRetry?: () => void;
}

/**
 * A failed request: the error, the request ID for the operator's log, and a retry button, unless nothing was found. Retries transient
 * errors by itself.
 */
export function ErrorState({ error, titled = true, onRetry }: ErrorStateProps) {
  const known = error instanceof ApiError ? error : undefined;
  const automatic = known?.transient === true ? onRetry : undefined;
  useRetry(error, automatic);
  return (
    <div role="alert" className="mx-auto flex max-w-xl flex-col items-center gap-3 px-4 py-12 text-center">
      <span className="bg-bad-soft text-bad rounded-lg p-2.5">
        <Icon name="alert" className="size-5" />
      </span>
      <div>
        {titled && <p className="font-semibold">{known?.code === "not_found" ? "Not found" : "Could not load this"}</p>}
        <p className="text-muted mt-1">{known?.message ?? "The console failed. Reload the page."}</p>
      </div>
      {automatic && (
        <p className="text-muted flex items-center gap-1.5 text-sm">
          <Icon name="running" className="animate-turn size-3.5" />
          Retrying…
        </p>
      )}
      {known?.requestId !== undefined && (
        <p className="text-muted flex items-center gap-1 text-xs">
          Request <code className="font-mono">{known.requestId}</code>
          <CopyButton text={known.requestId} label="Copy request ID" />
        </p>
      )}
      {onRetry && known?.code !== "not_found" && (
        <Button icon="retry" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

interface LoadedProps<Data> {
  query: { data: Data | undefined; error: unknown; refetch: () => unknown };
  /** What is shown until the data arrives: skeletons. */
  loading: ReactNode;
  children: (data: Data) => ReactNode;
}

/** What a query loads, or its error with a retry button, or `loading`. Data stays visible when a later request fails. */
export const Loaded = <Data,>({ query: { data, error, refetch }, loading, children }: LoadedProps<Data>) => {
  if (data !== undefined) return children(data);
  return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : loading;
};

/** Limits for the pause before an automatic retry, in milliseconds. */
const SHORTEST_MS = 1_000;
const LONGEST_MS = 15_000;
// Shared by all errors on the page, because a retry can replace the component.
let failingSince = 0;
let failedAt = 0;

/** Calls `retry` when the browser goes online, and after a pause that grows with the time since the first error. */
function useRetry(error: unknown, retry: (() => void) | undefined): void {
  const onRetry = useEffectEvent(() => retry?.());
  const active = retry !== undefined;
  useEffect(() => {
    if (!active) return undefined;
    const now = Date.now();
    if (now - failedAt > 2 * LONGEST_MS) failingSince = now;
    failedAt = now;
    const timer = setTimeout(onRetry, Math.min(Math.max((now - failingSince) / 2, SHORTEST_MS), LONGEST_MS));
    addEventListener("online", onRetry);
    return () => {
      clearTimeout(timer);
      removeEventListener("online", onRetry);
    };
  }, [active, error]);
}

/** The error in a form or panel. */
export function Fault({ error }: { error: unknown }) {
  if (!error) return null;
  const known = error instanceof ApiError ? error : undefined;
  return (
    <Notice role="alert" tone="bad" icon="alert">
      <p>{error instanceof Error ? error.message : "The request failed."}</p>
      {known?.details.map((fault) => (
        <p key={fault.path}>
          <code className="font-mono">{fault.path}</code>: {fault.message}
        </p>
      ))}
      {known?.retryAfterSeconds !== undefined && <p>Try again in {known.retryAfterSeconds} s.</p>}
      {known?.requestId !== undefined && <p className="mt-0.5 text-xs">Request {known.requestId}</p>}
    </Notice>
  );
}

/** A placeholder for loading content; give it the content's size. */
export function Skeleton({ className = "h-4 w-full" }: { className?: string }) {
  return <span aria-hidden="true" className={classNames("bg-line animate-shimmer block rounded", className)} />;
}

interface LoadingProps {
  label?: string;
  /** Classes for equal placeholders, in place of `children`. */
  block?: string;
  blocks?: number;
  children?: ReactNode;
}

/** Announces loading to screen readers, once for any number of skeletons. */
export const Loading = ({ label = "Loading", block = "h-4", blocks = 1, children }: LoadingProps) => (
  <div role="status" aria-busy="true">
    <span className="sr-only">{label}</span>
    {children ?? (
      <div className="grid gap-3">
        {Array.from({ length: blocks }, (_, i) => (
          <Skeleton key={i} className={classNames("w-full", block)} />
        ))}
      </div>
    )}
  </div>
);

/** The placeholder for a page while its code or first data loads. */
export const PageSkeleton = () => (
  <Loading label="Loading page">
    <div className="grid gap-5">
      <Skeleton className="h-7 w-48" />
      <Skeleton className="h-9 w-full max-w-xl" />
      <Skeleton className="h-72 w-full rounded-lg" />
    </div>
  </Loading>
);

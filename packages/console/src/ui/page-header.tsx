import { type ReactNode, useEffect, useRef } from "react";
import { classNames } from "./class-names.ts";

/** Appended to the document title. */
const PRODUCT = "Patchbay";

interface PageHeaderProps {
  /** The document title, and the heading unless `name` is given. */
  title: string;
  /** The content of the heading, if it is more than the title. */
  name?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  /** Below the heading: tabs, filters. */
  children?: ReactNode;
}

/** The only h1 of a page. Sets the document title and takes the focus after navigation. */
export function PageHeader({ title, name = title, description, actions, children }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
  useEffect(() => {
    // Leave the focus to the browser on the first load; after navigation, start at the heading of the new page.
    if (document.documentElement.dataset["navigated"] !== undefined) heading.current?.focus({ preventScroll: true });
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

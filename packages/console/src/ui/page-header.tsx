import { useEffect, useRef, type ReactNode } from "react";
import { classNames } from "./class-names.ts";

/** The name that documents get behind their page's title. */
const PRODUCT = "Patchbay";

/** The page's only h1. It names the document, and takes the focus when the page is navigated to. */
export function PageHeader({
  title,
  name = title,
  description,
  actions,
  children,
}: {
  /** Names the document, and what is shown unless `children` says it otherwise. */
  title: string;
  /** Content of the heading where it is more than the title. */
  name?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  /** Below the heading: tabs, filters. */
  children?: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${PRODUCT}`;
  }, [title]);
  useEffect(() => {
    // On the first load the browser's own order is right; afterwards a new page begins at its heading.
    if (document.documentElement.dataset["navigated"] !== undefined) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <header className="mb-5 flex flex-col gap-3">
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        {/* A title alone may be narrow; a description needs room for words. */}
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

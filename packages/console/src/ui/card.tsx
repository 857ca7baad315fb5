import { type ReactNode, useId } from "react";
import { classNames } from "./class-names.ts";

interface CardProps {
  title?: ReactNode;
  description?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  className?: string;
  children: ReactNode;
}

/** A titled section of a page. `flush` omits the padding, for tables and charts with their own. */
export function Card({ title, description, actions, flush = false, className, children }: CardProps) {
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
      <div className={flush ? "min-w-0" : "p-4"}>{children}</div>
    </section>
  );
}

/** Name and value pairs. */
export const Facts = ({ items }: { items: [name: ReactNode, value: ReactNode][] }) => (
  <dl className="grid grid-cols-[minmax(6rem,auto)_minmax(0,1fr)] gap-x-6 gap-y-2 text-sm">
    {items.map(([name, value], index) => (
      // The order of facts is fixed.
      <div key={index} className="contents">
        <dt className="text-muted">{name}</dt>
        <dd className="min-w-0">{value}</dd>
      </div>
    ))}
  </dl>
);

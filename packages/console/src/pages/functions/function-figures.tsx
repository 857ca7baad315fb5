import type { ConsoleFunction } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { formatShare } from "../../format/numbers.ts";
import { Count, Duration, Time } from "../../ui/figures.tsx";

/** How a function was called over the range. */
export function FunctionFigures({ one: { figures } }: { one: ConsoleFunction }) {
  const { calls, failed, denied, p50Ms, p95Ms, lastCalledAt } = figures;
  const share = (part: number) => calls > 0 && part > 0 && formatShare(part, calls);
  return (
    <dl className="border-line bg-line shadow-card grid grid-cols-2 gap-px overflow-hidden rounded-lg border sm:grid-cols-3 xl:grid-cols-6">
      <Figure name="Calls">
        <Count value={calls} />
      </Figure>
      <Figure name="Errors" note={share(failed)} tone={failed > 0 ? "text-bad" : ""}>
        <Count value={failed} />
      </Figure>
      <Figure name="Refused" note={share(denied)} tone={denied > 0 ? "text-warn" : ""}>
        <Count value={denied} />
      </Figure>
      <Figure name="p50">
        <Duration ms={p50Ms} />
      </Figure>
      <Figure name="p95">
        <Duration ms={p95Ms} />
      </Figure>
      <Figure name="Last call">
        <Time at={lastCalledAt} />
      </Figure>
    </dl>
  );
}

function Figure({
  name,
  note,
  tone = "",
  children,
}: {
  name: string;
  note?: string | false;
  tone?: string;
  children: ReactNode;
}) {
  return (
    <div className="bg-surface px-4 py-2.5">
      <dt className="text-muted text-xs">{name}</dt>
      <dd className={`text-lg font-semibold ${tone}`}>
        {children}
        {note && <span className="ml-1.5 text-xs font-normal">{note}</span>}
      </dd>
    </div>
  );
}

import type { ModelView } from "@patchbay/protocol/console";
import { useState } from "react";
import { approvalText } from "../../format/approval.ts";
import { formatCompact } from "../../format/numbers.ts";
import { Json } from "../../ui/text/json.tsx";
import { Badge } from "../../ui/values.tsx";

/** An upper estimate, by size. */
export const Estimate = ({ tokens }: { tokens: number }) => (
  <span className="text-muted text-xs whitespace-nowrap" title="Upper estimate by size">
    ≤ {formatCompact(tokens)} tokens
  </span>
);

interface ModelFunctionsProps {
  functions: ModelView["functions"];
  /** Also shows the descriptions of folded functions. */
  described?: boolean;
}

/** Functions as a model request has them. */
export const ModelFunctions = ({ functions, described = false }: ModelFunctionsProps) => (
  <ul aria-label="Functions" className={described ? "grid gap-4" : "grid gap-2"}>
    {functions.map((fn) => (
      <li key={fn.name} className="min-w-0">
        {described && (
          <>
            <p className="flex flex-wrap items-center gap-2 text-sm">
              <span className="font-mono font-medium">{fn.name}</span>
              {fn.approval && (
                <Badge tone="warn" icon="clock">
                  {approvalText(fn.approval)}
                </Badge>
              )}
            </p>
            <Description>{fn.description}</Description>
          </>
        )}
        <Parameters of={fn} described={described} />
      </li>
    ))}
  </ul>
);

const Description = ({ children }: { children: string }) => (
  <p className="max-w-prose text-sm break-words whitespace-pre-wrap">{children}</p>
);

/** A schema's tree renders when it is opened: there may be 200. */
function Parameters({ of, described }: { of: ModelView["functions"][number]; described: boolean }) {
  const { name, description, inputSchema, tokens } = of;
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="text-sm">
        {described ? "Parameters" : <code className="font-mono text-xs">{name}</code>} <Estimate tokens={tokens} />
      </summary>
      {open && (
        <div className="mt-2 grid gap-2 pl-4">
          {!described && <Description>{description}</Description>}
          <Json value={inputSchema} name={`Parameters of ${name}`} open={described} />
        </div>
      )}
    </details>
  );
}

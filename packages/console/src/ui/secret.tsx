import { useState } from "react";
import { Button } from "./button.tsx";
import { CopyButton } from "./copy.tsx";

/** A secret that the service shows this once. It is masked, so that nobody reads along. */
export function Secret({ label, secret }: { label: string; secret: string }) {
  const [shown, setShown] = useState(false);
  return (
    <div className="border-line bg-sunken flex min-w-0 flex-wrap items-center gap-2 rounded-lg border px-3 py-2">
      <output aria-label={label} className="min-w-0 flex-1 font-mono text-sm break-all">
        {shown ? secret : `${secret.slice(0, 8)}${"•".repeat(20)}`}
      </output>
      <Button size="small" aria-pressed={shown} onClick={() => setShown(!shown)}>
        {shown ? "Hide" : "Show"}
      </Button>
      <CopyButton text={secret} look="primary">
        Copy
      </CopyButton>
    </div>
  );
}

import { useState } from "react";
import { type CaseOfCall, caseSnippet } from "../../format/snippets.ts";
import { Button } from "../../ui/button.tsx";
import { CodeBlock } from "../../ui/code.tsx";

/** Shows a call as a case for the owner's service file: the owner's tests and access matrix then judge it. */
export function SaveCase({ functionName, ...call }: CaseOfCall & { functionName: string }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="grid min-w-0 gap-2">
      <Button
        size="small"
        icon="copy"
        aria-expanded={open}
        className="justify-self-start"
        onClick={() => setOpen(!open)}
      >
        Save as case
      </Button>
      {open && (
        <CodeBlock
          title={
            <>
              Add to{" "}
              <code className="font-mono">
                defineFunction({"{"} name: "{functionName}" … {"}"})
              </code>{" "}
              in your service file
            </>
          }
          text={caseSnippet(call)}
        />
      )}
    </div>
  );
}

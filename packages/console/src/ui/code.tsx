import type { ReactNode } from "react";
import { CLI } from "../format/snippets.ts";
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

/** A shell command with a copy button. Says where it works if it is a CLI command. */
export const Command = ({ text }: { text: string }) => (
  <div className="grid min-w-0 gap-1 text-left">
    {text.includes(CLI) && <p className="text-muted text-xs">In your service folder:</p>}
    <div className="border-line bg-sunken flex min-w-0 items-center gap-1 rounded-lg border py-0.5 pr-1 pl-3">
      <code tabIndex={0} className="min-w-0 flex-1 overflow-x-auto py-1 font-mono text-xs whitespace-pre">
        <span aria-hidden="true" className="text-faint select-none">
          ${" "}
        </span>
        {text}
      </code>
      <CopyButton text={text} label="Copy command" />
    </div>
  </div>
);

import { type ReactNode, useEffect, useState } from "react";
import { Button, type ButtonLook, IconButton } from "./button.tsx";

interface CopyButtonProps {
  text: string | (() => string);
  label?: string;
  look?: ButtonLook;
  children?: ReactNode;
}

/** Copies `text` and confirms it for two seconds. A text button with `children`, otherwise an icon button. */
export function CopyButton({ text, label = "Copy", look = "secondary", children }: CopyButtonProps) {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = setTimeout(() => setState("idle"), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = async (): Promise<void> => {
    setState((await copyText(typeof text === "string" ? text : text())) ? "copied" : "failed");
  };
  const icon = state === "copied" ? "check" : state === "failed" ? "alert" : "copy";
  const message =
    state === "copied" ? "Copied" : state === "failed" ? "Copy failed. Select the text and copy it." : label;
  return (
    <>
      {children === undefined ? (
        <IconButton icon={icon} label={message} size="small" onClick={() => void copy()} />
      ) : (
        <Button icon={icon} look={look} size="small" onClick={() => void copy()}>
          {state === "copied" ? "Copied" : children}
        </Button>
      )}
      <span role="status" className="sr-only">
        {state === "idle" ? "" : message}
      </span>
    </>
  );
}

/** An id or address, or `children` in its place, with a button that copies it. */
export const CopyableText = ({ text, label = "Copy", children = text }: CopyButtonProps & { text: string }) => (
  <span className="flex min-w-0 items-start gap-1">
    <code className="min-w-0 font-mono text-xs leading-5 break-all">{children}</code>
    <span className="-my-1">
      <CopyButton text={text} label={label} />
    </span>
  </span>
);

/** The Clipboard API exists only on https and loopback. Elsewhere, copies a selection with `execCommand`. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

/** A secret that is shown only once. It is masked until the member clicks Show, against onlookers. */
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

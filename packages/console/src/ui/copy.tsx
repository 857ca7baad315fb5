import { useEffect, useState, type ReactNode } from "react";
import { Button, IconButton, type ButtonLook } from "./button.tsx";

/** Copies `text`, and says so for a moment. With children a button with words, without an icon alone. */
export function CopyButton({
  text,
  label = "Copy",
  look = "secondary",
  children,
}: {
  text: string | (() => string);
  label?: string;
  look?: ButtonLook;
  children?: ReactNode;
}) {
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
  const words = state === "copied" ? "Copied" : state === "failed" ? "Select it and copy by hand" : label;
  return (
    <>
      {children === undefined ? (
        <IconButton icon={icon} label={words} size="small" onClick={() => void copy()} />
      ) : (
        <Button icon={icon} look={look} size="small" onClick={() => void copy()}>
          {state === "copied" ? "Copied" : children}
        </Button>
      )}
      <span role="status" className="sr-only">
        {state === "idle" ? "" : words}
      </span>
    </>
  );
}

/** The clipboard's own interface is there on https and loopback alone; elsewhere a selection does. */
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

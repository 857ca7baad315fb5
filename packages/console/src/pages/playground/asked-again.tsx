import { useState } from "react";
import { Button, IconButton } from "../../ui/button.tsx";
import { controlClass } from "../../ui/control-class.ts";
import { Asked } from "../conversation/asked.tsx";

interface AskedAgainProps {
  text: string;
  disabled: boolean;
  onSend: (query: string, where: "new" | "same") => void;
}

/** A query that was asked, to be changed and asked again: after what was said last, or in a thread of its own. */
export function AskedAgain({ text, disabled, onSend }: AskedAgainProps) {
  const [draft, setDraft] = useState<string>();
  if (draft === undefined)
    return (
      <Asked text={text}>
        <IconButton
          icon="edit"
          label="Edit and run again"
          size="small"
          className="opacity-60 group-hover/asked:opacity-100 focus-visible:opacity-100"
          onClick={() => setDraft(text)}
        />
      </Asked>
    );
  const send = (where: "new" | "same"): void => {
    setDraft(undefined);
    onSend(draft, where);
  };
  const empty = draft.trim() === "";
  return (
    <form
      className="border-line bg-surface grid gap-2 rounded-lg border p-2.5"
      onSubmit={(event) => {
        event.preventDefault();
        send("new");
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") setDraft(undefined);
        if (event.key !== "Enter" || !(event.metaKey || event.ctrlKey) || empty || disabled) return;
        event.preventDefault();
        send("new");
      }}
    >
      <textarea
        autoFocus
        aria-label="Edited query"
        rows={2}
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        className={controlClass("h-auto max-h-60 field-sizing-content resize-none py-1.5")}
      />
      <div className="flex flex-wrap items-center justify-end gap-2">
        <p className="text-muted mr-auto text-xs">A new thread begins without what was said before.</p>
        <Button size="small" look="ghost" onClick={() => setDraft(undefined)}>
          Cancel
        </Button>
        <Button size="small" disabled={empty || disabled} onClick={() => send("same")}>
          Ask in this thread
        </Button>
        <Button size="small" type="submit" look="primary" disabled={empty || disabled}>
          Ask in a new thread
        </Button>
      </div>
    </form>
  );
}

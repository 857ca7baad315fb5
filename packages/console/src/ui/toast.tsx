import { createPortal } from "react-dom";
import { useSignal } from "../state/signal.ts";
import { closeToast, toasts } from "../state/toasts.ts";
import { IconButton } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** Shows what `tellDone` and `tellFailed` say. The regions stand on the page from the beginning, else screen readers would miss the first word. */
export function Toasts() {
  const shown = useSignal(toasts);
  const items = (failed: boolean) =>
    shown
      .filter((toast) => toast.failed === failed)
      .map(({ id, title, description }) => (
        <div
          key={id}
          className="border-line bg-raised shadow-raised animate-appear pointer-events-auto flex items-start gap-2.5 rounded-lg border py-2.5 pr-2 pl-3"
        >
          <Icon name={failed ? "alert" : "succeeded"} className={`mt-0.5 size-4 ${failed ? "text-bad" : "text-ok"}`} />
          <div className="min-w-0 flex-1 text-sm">
            <p className="font-medium">{title}</p>
            {description !== undefined && <p className="text-muted">{description}</p>}
          </div>
          <IconButton icon="close" label="Close" size="small" onClick={() => closeToast(id)} />
        </div>
      ));
  // Beside the dialogs, which would else cover it.
  return createPortal(
    <div className="pointer-events-none fixed inset-x-3 bottom-3 z-50 sm:left-auto sm:w-96">
      <div aria-live="polite" className="grid gap-2">
        {items(false)}
      </div>
      <div aria-live="assertive" className="mt-2 grid gap-2">
        {items(true)}
      </div>
    </div>,
    document.body,
  );
}

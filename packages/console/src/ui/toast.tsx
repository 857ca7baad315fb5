import { createPortal } from "react-dom";
import { createSignal, useSignal } from "../state/signals.ts";
import { IconButton } from "./button.tsx";
import { Icon } from "./icon.tsx";

/**
 * Renders the toasts. The live regions exist from the start: screen readers announce only changes within an existing region.
 *
 * Not the toasts of Base UI: they would add 15 kB gzip to the first load of 147 kB.
 */
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
  // Portal into the body: dialogs would otherwise cover the toasts.
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

interface Toast {
  id: number;
  failed: boolean;
  title: string;
  description: string | undefined;
}

/** How long a success is shown. An error stays until it is closed. */
const SHOWN_MS = 5_000;
const AT_ONCE = 3;

const toasts = createSignal<readonly Toast[]>([]);
let lastId = 0;

/** Shows a success for five seconds. */
export function showSuccess(title: string, description?: string): void {
  const id = show({ failed: false, title, description });
  setTimeout(() => closeToast(id), SHOWN_MS);
}

/** Shows an error with its message until the member closes it. */
export function showError(title: string, error: unknown): void {
  show({ failed: true, title, description: error instanceof Error ? error.message : undefined });
}

function closeToast(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

function show(toast: Omit<Toast, "id">): number {
  const id = (lastId += 1);
  toasts.set([...toasts.get(), { ...toast, id }].slice(-AT_ONCE));
  return id;
}

import { createSignal } from "./signal.ts";

export interface Toast {
  id: number;
  failed: boolean;
  title: string;
  description: string | undefined;
}

/** How long a word of success stays; failures stay until they are closed. */
const SHOWN_MS = 5_000;
const AT_ONCE = 3;

export const toasts = createSignal<readonly Toast[]>([]);
let lastId = 0;

/** Says shortly that something was done. */
export function tellDone(title: string, description?: string): void {
  const id = show({ failed: false, title, description });
  setTimeout(() => closeToast(id), SHOWN_MS);
}

/** Says that something failed, with the error's own words. */
export function tellFailed(title: string, error: unknown): void {
  show({ failed: true, title, description: error instanceof Error ? error.message : undefined });
}

export function closeToast(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

function show(toast: Omit<Toast, "id">): number {
  const id = (lastId += 1);
  toasts.set([...toasts.get(), { ...toast, id }].slice(-AT_ONCE));
  return id;
}

import { createSignal } from "./signals.ts";

interface Confirmation {
  settle: (confirmed: boolean) => void;
  answer: Promise<boolean>;
}

/** The open request for the password; `main.tsx` shows its dialog. */
export const openConfirmation = createSignal<Confirmation | undefined>(undefined);

/** Asks for the password and resolves with true once it is accepted. Concurrent requests share one dialog. */
export function askConfirmation(): Promise<boolean> {
  const open = openConfirmation.get();
  if (open) return open.answer;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const settle = (confirmed: boolean): void => {
    openConfirmation.set(undefined);
    resolve(confirmed);
  };
  openConfirmation.set({ settle, answer: promise });
  return promise;
}

import { createSignal } from "./signal.ts";

interface Asked {
  settle: (confirmed: boolean) => void;
  answer: Promise<boolean>;
}

/** The question for the password that is open now; the shell shows its dialog. */
export const openConfirmation = createSignal<Asked | undefined>(undefined);

/** Resolves with true once the password was given. Several requests at a time share one question. */
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

import { lazy, Suspense } from "react";
import { openConfirmation } from "../state/confirmation.ts";
import { useSignal } from "../state/signal.ts";

const Question = lazy(async () => ({ default: (await import("./confirmation-dialog.tsx")).ConfirmationDialog }));

/** Asks for the password when the service wants it anew; the request that needed it goes on afterwards. */
export function Confirmation() {
  const asked = useSignal(openConfirmation);
  return <Suspense>{asked && <Question settle={asked.settle} />}</Suspense>;
}

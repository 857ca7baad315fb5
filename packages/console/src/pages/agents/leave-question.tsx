import { useBlocker } from "@tanstack/react-router";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";

/** Asks before what was typed is lost. */
export function LeaveQuestion({ dirty }: { dirty: boolean }) {
  const blocker = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: dirty, withResolver: true });
  if (blocker.status !== "blocked") return null;
  return (
    <Dialog
      open
      onClose={blocker.reset}
      title="Leave without saving?"
      footer={
        <>
          <Button look="danger" onClick={blocker.proceed}>
            Leave
          </Button>
          <Button look="primary" onClick={blocker.reset}>
            Stay
          </Button>
        </>
      }
    >
      <p>What you changed here is not saved yet.</p>
    </Dialog>
  );
}

import type { ConsoleThreadDetail } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api } from "../../api/api.ts";
import { pathOfKey } from "../../api/queries.ts";
import { countOf } from "../../format/words.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Fault } from "../../ui/states.tsx";

interface EraseThreadProps {
  agentId: string;
  thread: ConsoleThreadDetail;
  onClose: () => void;
}

/** Asks before what cannot be undone. */
export function EraseThread({ agentId, thread: { threadId, title, runs }, onClose }: EraseThreadProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: () =>
      api.delete("/agents/:agent_id/threads/:thread_id", { params: { agent_id: agentId, thread_id: threadId } }),
    async onSuccess() {
      await navigate({ to: "/agents/$agentId/threads", params: { agentId } });
      tellDone("Thread erased", title);
      const gone = ["/agents/:agent_id/threads", "/agents/:agent_id/runs", "/agents/:agent_id/sessions"];
      void queries.invalidateQueries({ predicate: ({ queryKey }) => gone.includes(String(pathOfKey(queryKey))) });
    },
  });
  const running = runs.filter(({ finishedAt }) => finishedAt === null).length;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Erase this thread?"
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" icon="trash" busy={erase.isPending} onClick={() => erase.mutate()}>
            Erase thread
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        <p>
          “<span className="font-medium">{title.slice(0, 120)}</span>” goes with its messages, events and calls, of{" "}
          {countOf(runs.length, "query", "queries")}. This cannot be undone. What it cost stays in the ledger, and that
          it was erased in the audit log.
        </p>
        {running > 0 && (
          <p className="text-warn">{countOf(running, "query is", "queries are")} still running, and will end.</p>
        )}
        <Fault error={erase.error} />
      </div>
    </Dialog>
  );
}

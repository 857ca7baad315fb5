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
import { shownTitle } from "../conversation/exchange.ts";

interface EraseThreadProps {
  agentId: string;
  thread: ConsoleThreadDetail;
  onClose: () => void;
}

/** Asks before what cannot be undone. */
export function EraseThread({ agentId, thread: { threadId, title, runs, figures }, onClose }: EraseThreadProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: () =>
      api.delete("/agents/:agent_id/threads/:thread_id", { params: { agent_id: agentId, thread_id: threadId } }),
    async onSuccess() {
      await navigate({ to: "/agents/$agentId/threads", params: { agentId } });
      tellDone("Thread erased", shownTitle(title));
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
          “<span className="font-medium">{shownTitle(title)}</span>” and{" "}
          {figures.queries === 1 ? "its query" : `all ${figures.queries} queries in it`}
          go, with all messages, events and calls. This cannot be undone. What they cost stays in the ledger; the audit
          log keeps that the thread was erased.
        </p>
        {running > 0 && (
          <p className="text-warn">{countOf(running, "query is", "queries are")} still running, and will end.</p>
        )}
        <Fault error={erase.error} />
      </div>
    </Dialog>
  );
}

import type { WidenedSet } from "@patchbay/protocol/console";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { list, pathOfKey } from "../../api/queries.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/figures.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { Fault } from "../../ui/states.tsx";
import { Badge } from "../../ui/status.tsx";
import { isConfirmable, nameOfDeployment, textsOf } from "./widened-set.ts";

/** Function sets that let somebody do or see more than the ones before, with the confirmation of those that wait. */
export function WidenedSets({ agentId }: { agentId: string }) {
  const sets = useInfiniteQuery(
    list("/agents/:agent_id/access/widenings", { params: { agent_id: agentId }, query: { limit: 20 } }),
  );
  const [asked, setAsked] = useState<WidenedSet>();
  if (sets.data === undefined || sets.data.length === 0) return null;
  const all = sets.data;
  return (
    <Card
      title="When access widened"
      description="Deployments that let somebody do or see more than the functions before them."
      flush
    >
      <DataTable
        caption="Deployments that widened access"
        query={sets}
        columns={COLUMNS}
        empty={null}
        rowKey={({ service, deployment, named, manifestHash }) =>
          JSON.stringify([service, deployment, named, manifestHash])
        }
        actions={(set) =>
          isConfirmable(set, all) && (
            <GuardedButton needs="developer" size="small" onClick={() => setAsked(set)}>
              Confirm<span className="sr-only"> {nameOfDeployment(set)}</span>
            </GuardedButton>
          )
        }
      />
      {asked && <Confirmation agentId={agentId} set={asked} onClose={() => setAsked(undefined)} />}
    </Card>
  );
}

function Confirmation({ agentId, set, onClose }: { agentId: string; set: WidenedSet; onClose: () => void }) {
  const queries = useQueryClient();
  const confirm = useMutation({
    mutationFn: () =>
      api.post("/agents/:agent_id/access/confirmations", {
        params: { agent_id: agentId },
        body: { manifestHash: set.manifestHash },
      }),
    onSuccess: () => {
      const ofAgent = ({ queryKey }: { queryKey: readonly unknown[] }) =>
        String(pathOfKey(queryKey)).startsWith("/agents/:agent_id");
      void queries.invalidateQueries({ predicate: ofAgent });
      tellDone(`${nameOfDeployment(set)} is confirmed`, "New queries get its functions.");
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Confirm ${nameOfDeployment(set)}?`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={confirm.isPending} onClick={() => confirm.mutate()}>
            Confirm
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        <p className="text-pretty">New queries get its functions. Compared with those before, they allow more:</p>
        <Differences texts={textsOf(set)} />
        <Fault error={confirm.error} />
      </div>
    </Dialog>
  );
}

function Differences({ texts }: { texts: readonly string[] }) {
  return (
    <ul className="grid list-disc gap-1 pl-4 text-sm break-words">
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

const SHOWN = 3;

function Summary(set: WidenedSet) {
  const texts = textsOf(set);
  if (texts.length <= SHOWN) return <Differences texts={texts} />;
  return (
    <>
      <Differences texts={texts.slice(0, SHOWN)} />
      <details className="mt-1">
        <summary className="text-muted cursor-pointer text-xs">{texts.length - SHOWN} more</summary>
        <Differences texts={texts.slice(SHOWN)} />
      </details>
    </>
  );
}

function State({ confirmation, confirmedBy }: WidenedSet) {
  if (confirmation === "pending")
    return (
      <Badge tone="warn" icon="clock">
        waits for a confirmation
      </Badge>
    );
  if (confirmation === "none") return <Badge tone="idle">used at once</Badge>;
  return (
    <Badge tone="ok" icon="succeeded">
      confirmed by {confirmedBy ?? "a command"}
    </Badge>
  );
}

const COLUMNS: Column<WidenedSet>[] = [
  {
    head: "Deployment",
    cell: (set) => (
      <>
        <span className="font-medium">{nameOfDeployment(set)}</span>
        <code className="text-muted block font-mono text-xs">{set.manifestHash.slice(0, 8)}</code>
      </>
    ),
  },
  { head: "Allows more", cell: Summary },
  { head: "State", cell: State },
  { head: "Connected first", align: "end", from: "md", cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
];

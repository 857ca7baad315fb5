import type { WidenedSet } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, pathOfKey, queryClient, resource, useList } from "../../api/api.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Icon } from "../../ui/icon.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Badge, Time, TwoLines } from "../../ui/values.tsx";

/** Lists deployments that widened access. A developer or an owner confirms those that wait for it. */
export function WidenedSets({ agentId }: { agentId: string }) {
  const sets = useList("/agents/:agent_id/access/widenings", { params: { agentId }, query: { limit: 20 } });
  const { confirm, dialog } = useConfirmation(agentId);
  if (sets.data === undefined || sets.data.length === 0) return null;
  const all = sets.data;
  return (
    <DataTable
      title="Widened access"
      caption="Deployments that widened access"
      description="Deployments that allow a role more than the functions before them"
      query={sets}
      columns={COLUMNS}
      empty={null}
      rowKey={({ service, deployment, named, manifestHash }) =>
        JSON.stringify([service, deployment, named, manifestHash])
      }
      actions={(set) => isConfirmable(set, all) && confirm(set)}
    >
      {dialog}
    </DataTable>
  );
}

/** What each service's newest deployment allows more, while it waits for a confirmation. Renders nothing otherwise. */
export function PendingSets({ agentId }: { agentId: string }) {
  const pending = usePendingSets(agentId);
  const { confirm, dialog } = useConfirmation(agentId);
  return (
    <>
      {pending.map((set) => (
        <section
          key={set.manifestHash}
          aria-label={`Waiting for confirmation: ${nameOfDeployment(set)}`}
          className="bg-warn-soft text-warn mb-4 flex flex-wrap items-start gap-x-4 gap-y-2 rounded-lg px-4 py-3"
        >
          <div className="flex min-w-0 flex-1 basis-64 gap-2">
            <Icon name="clock" className="mt-0.5 size-4 shrink-0" />
            <div className="grid min-w-0 gap-1">
              <p className="font-semibold">Waiting for confirmation: {nameOfDeployment(set)}</p>
              <p className="text-sm">It allows more than the functions before it. New queries do not use it.</p>
              <Summary {...set} />
            </div>
          </div>
          {confirm(set)}
        </section>
      ))}
      {dialog}
    </>
  );
}

/** The pending sets whose confirmation changes which functions new queries use. */
export function usePendingSets(agentId: string): WidenedSet[] {
  const { data = [] } = useList("/agents/:agent_id/access/widenings", { params: { agentId }, query: { limit: 20 } });
  return data.filter(({ confirmation, newest }) => confirmation === "pending" && newest);
}

/** A button that confirms a set, and the dialog that it opens. */
function useConfirmation(agentId: string) {
  const [confirming, setConfirming] = useState<WidenedSet>();
  const confirm = (set: WidenedSet) => (
    <GuardedButton needs="developer" size="small" onClick={() => setConfirming(set)}>
      Confirm<span className="sr-only"> {nameOfDeployment(set)}</span>
    </GuardedButton>
  );
  const close = () => setConfirming(undefined);
  return { confirm, dialog: confirming && <Confirmation agentId={agentId} set={confirming} onClose={close} /> };
}

function Confirmation({ agentId, set, onClose }: { agentId: string; set: WidenedSet; onClose: () => void }) {
  const { manifestHash } = set;
  return (
    <FormDialog
      title={`Confirm ${nameOfDeployment(set)}?`}
      submit="Confirm"
      send={() => api.post("/agents/:agent_id/access/confirmations", { params: { agentId }, body: { manifestHash } })}
      onSent={() => {
        const ofAgent = (queryKey: readonly unknown[]) => String(pathOfKey(queryKey)).startsWith("/agents/:agent_id");
        void queryClient.invalidateQueries({ predicate: ({ queryKey }) => ofAgent(queryKey) });
        showSuccess(`Confirmed ${nameOfDeployment(set)}`, "New queries use its functions.");
        onClose();
      }}
      className="grid gap-3"
      onClose={onClose}
    >
      <p className="text-pretty">New queries will use its functions, which allow more than the previous ones:</p>
      <Differences texts={textsOf(set)} />
    </FormDialog>
  );
}

const Differences = ({ texts }: { texts: readonly string[] }) => (
  <ul className="grid list-disc gap-1 pl-4 text-left text-sm break-words">
    {texts.map((text) => (
      <li key={text}>{text}</li>
    ))}
  </ul>
);

const SHOWN = 3;

function Summary(set: WidenedSet) {
  const texts = textsOf(set);
  if (texts.length <= SHOWN) return <Differences texts={texts} />;
  return (
    <>
      <Differences texts={texts.slice(0, SHOWN)} />
      <details className="mt-1">
        <summary className="cursor-pointer text-xs">{texts.length - SHOWN} more</summary>
        <Differences texts={texts.slice(SHOWN)} />
      </details>
    </>
  );
}

function State({ confirmation, confirmedBy }: WidenedSet) {
  if (confirmation === "pending")
    return (
      <Badge tone="warn" icon="clock">
        waiting for confirmation
      </Badge>
    );
  if (confirmation === "none") return <Badge tone="idle">not required</Badge>;
  return (
    <Badge tone="ok" icon="succeeded">
      confirmed by {confirmedBy ?? "the CLI"}
    </Badge>
  );
}

const COLUMNS: Column<WidenedSet>[] = [
  {
    head: "Deployment",
    cell: (set) => <TwoLines first={nameOfDeployment(set)} second={set.manifestHash.slice(0, 8)} id />,
  },
  { head: "Allows more", cell: Summary },
  { head: "Confirmation", cell: State },
  { head: "First connected", align: "end", from: "md", cell: ({ firstSeenAt }) => <Time at={firstSeenAt} /> },
];

/** For example `deployment 2026-11-22 of desk`; the runtime's id where the owner did not name the deployment. */
export function nameOfDeployment({ service, deployment, named }: WidenedSet): string {
  return named ? `deployment ${deployment} of ${service}` : `${service} of runtime ${deployment}`;
}

/** Each widening as a sentence. */
export function textsOf({ widenings, omitted }: WidenedSet): string[] {
  const texts = widenings.map(({ text }) => text);
  return omitted === 0 ? texts : [...texts, `${omitted} more changes are not listed.`];
}

/**
 * True for the newest deployment that waits with its function set: a confirmation also applies to the older ones. `all`
 * is sorted newest first.
 */
export function isConfirmable(set: WidenedSet, all: readonly WidenedSet[]): boolean {
  const newest = all.find((other) => other.confirmation === "pending" && other.manifestHash === set.manifestHash);
  return set === newest;
}

/** Warns about services that receive no queries, or that an older deployment serves. Renders nothing otherwise. */
export function ServiceWarnings({ agentId }: { agentId: string }) {
  const { data } = useQuery(resource("/agents/:agent_id/access/services", { params: { agentId } }));
  const notes = data?.services.flatMap((service): string[] => {
    if (!service.serves) return [`Queries do not use the functions of ${service.service}: ${service.reason}.`];
    if (!service.isFallback) return [];
    return [
      `Deployment ${service.deployment} serves ${service.service}: no runtime of the latest deployment is connected.`,
    ];
  });
  if (!notes || notes.length === 0) return null;
  return (
    <ul role="status" className="bg-warn-soft text-warn mb-4 grid gap-1 rounded-lg px-4 py-2.5 text-sm">
      {notes.map((note) => (
        <li key={note} className="flex gap-2">
          <Icon name="alert" className="mt-0.5 size-4 shrink-0" />
          <span className="min-w-0 break-words">{note}</span>
        </li>
      ))}
    </ul>
  );
}

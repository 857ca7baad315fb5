import type { ConsoleWebhook, WebhookDelivery } from "@patchbay/protocol/console";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { useAction } from "../../api/action.ts";
import { api, list, refetch, resource, useSession } from "../../api/api.ts";
import { operatorCommand } from "../../format/snippets.ts";
import { toRun } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { GuardedButton, LinkButton } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import { Json } from "../../ui/text/json.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import { type Filter, FilterBar } from "../../ui/table/filter-bar.tsx";
import { rowButton } from "../../ui/table/row-button.tsx";
import { Card, EmptyState, Facts, Fault, Loaded, Loading, PageHeader, Section } from "../../ui/page.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { showError, showSuccess } from "../../ui/toast.tsx";
import { Duration, Status, Time, TwoLines } from "../../ui/values.tsx";
import type { WebhookDialog } from "./webhook-dialogs.tsx";

const WebhookDialogs = lazy(async () => ({ default: (await import("./webhook-dialogs.tsx")).WebhookDialogs }));

const route = getRouteApi("/shell/agents/$agentId/webhook");
const STATUSES = ["pending", "delivered", "failed"];
const FILTERS: Filter<"status">[] = [{ kind: "choice", name: "status", label: "Status", options: STATUSES }];
/** Pause between two requests for a list with deliveries that wait for an attempt. */
const REFRESH_MS = 3_000;

/** Where an agent reports approvals and run ends, and what it has sent. */
export function WebhookPage() {
  const { agentId } = route.useParams();
  const [dialog, setDialog] = useState<WebhookDialog>();
  const { databaseOption } = useSession();
  const query = useQuery(resource("/agents/:agent_id/webhook", { params: { agentId } }));
  const test = useAction({
    mutationFn: () => api.post("/agents/:agent_id/webhook/test", { params: { agentId } }),
    onSuccess: () => showSuccess("Stored a test delivery"),
    onError: (error) => showError("Could not send a test", error),
    onSettled: () => refetch("/agents/:agent_id/webhook/deliveries"),
  });
  const webhook = query.data?.webhook;
  return (
    <>
      <PageHeader
        title="Webhook"
        description="Sends approvals, and run ends with Prefer: respond-async, to your address"
        actions={
          webhook && (
            <GuardedButton needs="developer" icon="send" busy={test.isPending} onClick={() => test.mutate()}>
              Send a test
            </GuardedButton>
          )
        }
      />
      <Loaded query={query} loading={<Loading block="h-48 max-w-4xl rounded-lg" />}>
        {({ webhook }) =>
          webhook ? (
            <div className="grid gap-5">
              <WebhookCard webhook={webhook} onOpen={setDialog} />
              <Deliveries agentId={agentId} />
            </div>
          ) : (
            <EmptyState
              icon="send"
              title="No webhook yet"
              command={operatorCommand(`agents webhook set ${agentId} --url URL`, databaseOption)}
              action={
                <GuardedButton needs="developer" look="primary" icon="plus" onClick={() => setDialog("url")}>
                  Add a webhook
                </GuardedButton>
              }
            >
              Add one here, or with the CLI on the server.
            </EmptyState>
          )
        }
      </Loaded>
      <Suspense>
        {dialog && <WebhookDialogs webhook={webhook ?? null} dialog={dialog} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </>
  );
}

/** A webhook's address and secret, with what changes them. */
function WebhookCard({ webhook, onOpen }: { webhook: ConsoleWebhook; onOpen: (dialog: WebhookDialog) => void }) {
  const { url, hint, previousEndsAt, createdAt } = webhook;
  return (
    <Card title="Receiver" className="max-w-4xl" stacked>
      <Facts
        items={[
          ["Address", <code className="font-mono text-xs break-all">{url}</code>],
          ["Secret", <code className="font-mono text-xs">{hint}</code>],
          previousEndsAt !== null && [
            "Old secret",
            <>
              signs too until <Time at={previousEndsAt} exact />
            </>,
          ],
          ["Added", <Time at={createdAt} exact />],
        ]}
      />
      <div className="flex flex-wrap gap-2">
        <GuardedButton needs="developer" icon="edit" onClick={() => onOpen("url")}>
          Change address
        </GuardedButton>
        <GuardedButton needs="developer" icon="retry" onClick={() => onOpen("rotate")}>
          Rotate secret
        </GuardedButton>
        <GuardedButton needs="developer" look="danger" icon="trash" onClick={() => onOpen("remove")}>
          Remove
        </GuardedButton>
      </div>
    </Card>
  );
}

function Deliveries({ agentId }: { agentId: string }) {
  const { status, delivery: opened } = route.useSearch();
  const change = useSearchChange(route);
  const deliveries = useInfiniteQuery({
    ...list("/agents/:agent_id/webhook/deliveries", { params: { agentId }, query: { status } }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) =>
      data?.pages.some(({ items }) => items.some(({ status }) => status === "pending")) ? REFRESH_MS : false,
  });
  const shown = deliveries.data?.find(({ deliveryId }) => deliveryId === opened);
  return (
    <section aria-label="Deliveries" className="grid gap-3">
      <FilterBar filters={FILTERS} values={{ status }} onChange={change} />
      <DataTable
        caption="Deliveries"
        query={deliveries}
        columns={COLUMNS}
        rowKey={({ deliveryId }) => deliveryId}
        link={rowButton(({ deliveryId }) => change({ delivery: deliveryId }))}
        empty={
          <EmptyState icon="send" title="No deliveries">
            This agent's events appear here once they occur. Send a test to check the receiver.
          </EmptyState>
        }
      />
      {shown && (
        <DeliveryPanel key={shown.deliveryId} delivery={shown} onClose={() => change({ delivery: undefined })} />
      )}
    </section>
  );
}

/** The function and the decision, or the run's state. */
const subjectOf = ({ data }: WebhookDelivery): string =>
  ["toolName", "decision", "status"]
    .flatMap((name) => (typeof data[name] === "string" ? [data[name]] : []))
    .join(" · ");

const COLUMNS: Column<WebhookDelivery>[] = [
  {
    head: "Event",
    cell: (delivery) => <TwoLines first={delivery.type} second={subjectOf(delivery) || delivery.deliveryId} />,
  },
  { head: "Status", cell: ({ status }) => <Status state={status} /> },
  {
    head: "Last attempt",
    from: "md",
    cell: ({ lastStatus, lastError }) => (
      <span className="block max-w-80 truncate">{lastError ?? (lastStatus === null ? "–" : String(lastStatus))}</span>
    ),
  },
  { head: "Attempts", align: "end", from: "md", cell: ({ attempts }) => attempts },
  { head: "Next attempt", align: "end", from: "lg", cell: ({ nextAttemptAt }) => <Time at={nextAttemptAt} none="–" /> },
  { head: "Created", align: "end", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** One delivery with its last attempt. An ended one can be sent again. */
function DeliveryPanel({ delivery, onClose }: { delivery: WebhookDelivery; onClose: () => void }) {
  const { agentId } = route.useParams();
  const { deliveryId, type, data, status, lastStatus, lastError, lastDurationMs } = delivery;
  const again = useAction({
    mutationFn: () =>
      api.post("/agents/:agent_id/webhook/deliveries/:delivery_id/resend", { params: { agentId, deliveryId } }),
    onSuccess: () => showSuccess("The delivery is sent again"),
    onSettled: () => refetch("/agents/:agent_id/webhook/deliveries"),
  });
  const runId = data["runId"];
  return (
    <Drawer
      open
      onClose={onClose}
      title={type}
      footer={
        status !== "pending" && (
          <GuardedButton needs="developer" icon="retry" busy={again.isPending} onClick={() => again.mutate()}>
            Send again
          </GuardedButton>
        )
      }
    >
      <Facts
        items={[
          ["Status", <Status state={status} />],
          ["Attempts", delivery.attempts],
          ["Last attempt", <Time at={delivery.lastAttemptAt} exact />],
          ["Response", lastStatus ?? "none"],
          ["Error", lastError ?? "none"],
          ["Duration", <Duration ms={lastDurationMs} />],
          ["Next attempt", <Time at={delivery.nextAttemptAt} exact none="none" />],
          ["Created", <Time at={delivery.createdAt} exact />],
          ["ID", <CopyableText text={deliveryId} label="Copy ID" />],
        ]}
      />
      <Section title="Data">
        <Json value={data} name="Data" />
      </Section>
      {typeof runId === "string" && (
        <LinkButton {...toRun(agentId, runId)} size="small" icon="run" className="justify-self-start">
          Open the run
        </LinkButton>
      )}
      <Fault error={again.error} />
    </Drawer>
  );
}

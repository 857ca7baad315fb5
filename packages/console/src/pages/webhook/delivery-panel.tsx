import type { WebhookDelivery } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useAction } from "../../api/action.ts";
import { api, refetch } from "../../api/api.ts";
import { toRun } from "../../state/addresses.ts";
import { GuardedButton, LinkButton } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Drawer } from "../../ui/form/dialog.tsx";
import { Json } from "../../ui/text/json.tsx";
import { Facts, Fault, Section } from "../../ui/page.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Duration, Status, Time } from "../../ui/values.tsx";

const route = getRouteApi("/shell/agents/$agentId/webhook");

/** One delivery with its last attempt. An ended one can be sent again. */
export function DeliveryPanel({ delivery, onClose }: { delivery: WebhookDelivery; onClose: () => void }) {
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
      <div className="grid gap-5">
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
      </div>
    </Drawer>
  );
}

import type { ConsoleWebhook } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { TextField } from "../../ui/form/field.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { NewSecret, RotateSecret } from "../../parts/secret/secret-dialogs.tsx";

const route = getRouteApi("/shell/agents/$agentId/webhook");

export type WebhookDialog = "url" | "rotate" | "remove";

interface DialogsProps {
  webhook: ConsoleWebhook | null;
  onClose: () => void;
}

const CHANGED = ["/agents/:agent_id/webhook", "/agents/:agent_id/webhook/deliveries", "/audit"] as const;

/** Adds, changes, rotates or removes a webhook, and shows a new secret once. */
export function WebhookDialogs({ dialog, ...props }: DialogsProps & { dialog: WebhookDialog }) {
  const { onClose } = props;
  const params = route.useParams();
  if (dialog === "url") return <AddressForm {...props} />;
  if (dialog === "rotate")
    return (
      <RotateSecret
        title="Rotate the secret"
        description="Deliveries are signed with the new secret, and for a while with the old one too"
        hint="How long deliveries are signed with both, while you deploy the new secret"
        send={(overlapSeconds) => api.post("/agents/:agent_id/webhook/rotate", { params, body: { overlapSeconds } })}
        refetches={CHANGED}
        result={({ secret }) => <ShownSecret secret={secret} onClose={onClose} />}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title="Remove the webhook?"
      submit="Remove"
      look="danger"
      send={() => api.delete("/agents/:agent_id/webhook", { params })}
      refetches={CHANGED}
      done="Removed the webhook"
      onClose={onClose}
    >
      <p className="text-sm">
        Pending deliveries are cancelled, and the secret stops working. Later events are not sent.
      </p>
    </FormDialog>
  );
}

const ShownSecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <NewSecret title="The webhook secret" label="Secret" secret={secret} onClose={onClose}>
    <p className="text-muted text-sm">
      Receivers check the header <code className="font-mono text-xs">X-Patchbay-Signature</code> with it:{" "}
      <code className="font-mono text-xs">verifyWebhook</code> of @patchbay/client does.
    </p>
  </NewSecret>
);

function AddressForm({ webhook, onClose }: DialogsProps) {
  const params = route.useParams();
  const [url, setUrl] = useState(webhook?.url ?? "");
  return (
    <FormDialog
      title={webhook ? "Change the address" : "Add a webhook"}
      submit={webhook ? "Save" : "Add"}
      disabled={url.trim() === "" || url.trim() === webhook?.url}
      send={() => api.put("/agents/:agent_id/webhook", { params, body: { url: url.trim() } })}
      refetches={CHANGED}
      onSent={({ secret }) => {
        if (secret !== null) return;
        showSuccess("Changed the address");
        onClose();
      }}
      result={({ secret }) => secret !== null && <ShownSecret secret={secret} onClose={onClose} />}
      onClose={onClose}
    >
      <TextField
        label="Address"
        hint="Begins with https://. Pending deliveries are sent to the new address."
        required
        autoFocus
        maxLength={2_000}
        spellCheck={false}
        placeholder="https://hooks.example.com/patchbay"
        value={url}
        onChange={setUrl}
      />
    </FormDialog>
  );
}

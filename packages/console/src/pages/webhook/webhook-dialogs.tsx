import type { ConsoleWebhook } from "@patchbay/protocol/console";
import { useState } from "react";
import { api, refetch } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Secret } from "../../ui/copy.tsx";
import { Dialog, FormDialog } from "../../ui/dialog.tsx";
import { Field, TextField } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { OVERLAPS } from "../keys/kinds.ts";
import type { WebhookDialog } from "./webhook-card.tsx";

interface DialogsProps {
  agentId: string;
  webhook: ConsoleWebhook | null;
  dialog: WebhookDialog;
  onClose: () => void;
}

const refetchWebhook = () =>
  void refetch("/agents/:agent_id/webhook", "/agents/:agent_id/webhook/deliveries", "/audit");

/** Adds, changes, rotates or removes a webhook, and shows a new secret once. */
export function WebhookDialogs({ agentId, webhook, dialog, onClose }: DialogsProps) {
  const [secret, setSecret] = useState<string>();
  const params = { agentId };
  if (secret !== undefined) return <NewSecret secret={secret} onClose={onClose} />;
  if (dialog === "url")
    return (
      <AddressForm
        agentId={agentId}
        webhook={webhook}
        onSaved={(made) => {
          refetchWebhook();
          if (made !== null) return setSecret(made);
          showSuccess("Changed the address");
          onClose();
        }}
        onClose={onClose}
      />
    );
  if (dialog === "rotate") return <RotateForm agentId={agentId} onRotated={setSecret} onClose={onClose} />;
  return (
    <FormDialog
      title="Remove the webhook?"
      submit="Remove"
      look="danger"
      send={() => api.delete("/agents/:agent_id/webhook", { params })}
      onSent={() => {
        refetchWebhook();
        showSuccess("Removed the webhook");
        onClose();
      }}
      onClose={onClose}
    >
      <p className="text-sm">
        Deliveries that wait for an attempt are cancelled, and the secret stops working. Later events are not sent.
      </p>
    </FormDialog>
  );
}

function AddressForm({
  agentId,
  webhook,
  onSaved,
  onClose,
}: Pick<DialogsProps, "agentId" | "webhook" | "onClose"> & { onSaved: (secret: string | null) => void }) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  return (
    <FormDialog
      title={webhook ? "Change the address" : "Add a webhook"}
      submit={webhook ? "Save" : "Add"}
      disabled={url.trim() === "" || url.trim() === webhook?.url}
      send={() => api.put("/agents/:agent_id/webhook", { params: { agentId }, body: { url: url.trim() } })}
      onSent={({ secret }) => onSaved(secret)}
      onClose={onClose}
    >
      <TextField
        label="Address"
        hint="Begins with https://. Deliveries that wait are sent to the new address."
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

function RotateForm({
  agentId,
  onRotated,
  onClose,
}: Pick<DialogsProps, "agentId" | "onClose"> & { onRotated: (secret: string) => void }) {
  const [seconds, setSeconds] = useState("86400");
  return (
    <FormDialog
      title="Rotate the secret"
      description="Deliveries are signed with the new secret, and for a while with the old one too"
      submit="Rotate"
      send={() =>
        api.post("/agents/:agent_id/webhook/rotate", {
          params: { agentId },
          body: { overlapSeconds: Number(seconds) },
        })
      }
      onSent={({ secret }) => {
        refetchWebhook();
        onRotated(secret);
      }}
      onClose={onClose}
    >
      <Field label="Overlap" hint="How long deliveries are signed with both, while you deploy the new secret">
        <Select options={OVERLAPS} value={seconds} onChange={setSeconds} />
      </Field>
    </FormDialog>
  );
}

const NewSecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => (
  <Dialog
    open
    sticky
    onClose={onClose}
    title="The secret of the webhook"
    description="Copy it now: it is shown only once."
    footer={<Button onClick={onClose}>Done</Button>}
  >
    <div className="grid gap-3">
      <Secret label="Secret" secret={secret} />
      <p className="text-muted text-sm">
        Receivers check the header <code className="font-mono text-xs">X-Patchbay-Signature</code> with it:{" "}
        <code className="font-mono text-xs">verifyWebhook</code> of @patchbay/client does.
      </p>
    </div>
  </Dialog>
);

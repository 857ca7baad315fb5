import type { CreatedCredential, CredentialKind } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Select } from "../../ui/select.tsx";
import { Fault } from "../../ui/states.tsx";
import { CreatedKey } from "./created-key.tsx";
import { KINDS } from "./kinds.ts";
import { useKeysChanged } from "./revoke-key.tsx";
import { RolesField } from "./roles-field.tsx";

const route = getRouteApi("/shell/agents/$agentId/keys");
const FORM = "create-key";
const EXPIRIES = [
  { value: "", label: "Never" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

/** Makes a key or a token, then shows its secret with what uses it. */
export function CreateKey({ kind, onClose }: { kind: CredentialKind; onClose: () => void }) {
  const [created, setCreated] = useState<CreatedCredential>();
  return created ? (
    <CreatedKey created={created} onClose={onClose} />
  ) : (
    <KeyForm kind={kind} onClose={onClose} onCreated={setCreated} />
  );
}

function KeyForm({
  kind,
  onClose,
  onCreated,
}: {
  kind: CredentialKind;
  onClose: () => void;
  onCreated: (created: CreatedCredential) => void;
}) {
  const { agentId } = route.useParams();
  const [label, setLabel] = useState("");
  const [roles, setRoles] = useState<string[]>();
  const [days, setDays] = useState("");
  const changed = useKeysChanged();
  const create = useMutation({
    mutationFn: () =>
      api.post("/agents/:agent_id/credentials", {
        params: { agent_id: agentId },
        body: {
          kind,
          ...(label.trim() !== "" && { label }),
          ...(roles && { roles }),
          ...(days !== "" && { expiresInDays: Number(days) }),
        },
      }),
    onSuccess: (made) => {
      changed();
      onCreated(made);
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      sticky
      title={KINDS[kind].title}
      description={KINDS[kind].about}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM} look="primary" busy={create.isPending} disabled={roles?.length === 0}>
            Create {KINDS[kind].one}
          </Button>
        </>
      }
    >
      <form
        id={FORM}
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (roles?.length !== 0) create.mutate();
        }}
      >
        <Field label="Label" hint="What you know it by: the program or the machine that holds it.">
          <Input
            maxLength={200}
            placeholder="shop backend"
            value={label}
            onChange={(event) => setLabel(event.target.value)}
          />
        </Field>
        {kind === "api" && <RolesField agentId={agentId} roles={roles} onChange={setRoles} />}
        {kind !== "access" && (
          <Field label="Expires">
            <Select options={EXPIRIES} value={days} onChange={setDays} />
          </Field>
        )}
        <Fault error={create.error} />
      </form>
    </Dialog>
  );
}

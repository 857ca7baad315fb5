import type { CreatedCredential, Credential } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Time } from "../../ui/figures.tsx";
import { Select } from "../../ui/select.tsx";
import { Fault } from "../../ui/states.tsx";
import { CreatedKey } from "./created-key.tsx";
import { KINDS, nameOf } from "./kinds.ts";
import { useKeysChanged } from "./revoke-key.tsx";

const OVERLAPS = [
  { value: "0", label: "None: the old one ends at once" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
];

/** Puts a new secret in the place of one, which goes on for a while. */
export function RotateKey({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const [seconds, setSeconds] = useState("86400");
  const [made, setMade] = useState<CreatedCredential>();
  const { kind, agentId, credentialId } = credential;
  const changed = useKeysChanged();
  const rotate = useMutation({
    mutationFn: () =>
      api.post("/agents/:agent_id/credentials/:credential_id/rotate", {
        params: { agent_id: agentId, credential_id: credentialId },
        body: { overlapSeconds: Number(seconds) },
      }),
    onSuccess: (created) => {
      changed();
      setMade(created);
    },
  });
  if (made)
    return (
      <CreatedKey
        created={made}
        onClose={onClose}
        note={<OldOne hint={credential.hint} endsAt={endOf(credential, made.credential, Number(seconds))} />}
      />
    );
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Rotate ${nameOf(credential)}`}
      description={`A new ${KINDS[kind].one} with the same label${kind === "api" ? " and roles" : ""} takes its place.`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={rotate.isPending} onClick={() => rotate.mutate()}>
            Rotate
          </Button>
        </>
      }
    >
      <div className="grid gap-4">
        <Field
          label="Overlap"
          hint="How long the old secret goes on working, so that you can put the new one in place."
        >
          <Select options={OVERLAPS} value={seconds} onChange={setSeconds} />
        </Field>
        {seconds === "0" && <p className="text-warn text-sm">{KINDS[kind].ends}</p>}
        <Fault error={rotate.error} />
      </div>
    </Dialog>
  );
}

/** When the old one ends: after the overlap, or when it would have ended anyhow. Null where it has. */
function endOf(old: Credential, made: Credential, overlapSeconds: number): string | null {
  if (overlapSeconds === 0) return null;
  const end = new Date(Date.parse(made.createdAt) + overlapSeconds * 1_000).toISOString();
  return old.expiresAt !== null && old.expiresAt < end ? old.expiresAt : end;
}

function OldOne({ hint, endsAt }: { hint: string; endsAt: string | null }) {
  return (
    <p className="bg-info-soft text-info rounded-md px-3 py-2 text-sm">
      The old one (<code className="font-mono text-xs">{hint}</code>){" "}
      {endsAt === null ? (
        "has ended."
      ) : (
        <>
          works until <Time at={endsAt} exact />.
        </>
      )}
    </p>
  );
}

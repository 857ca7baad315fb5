import type { CreatedCredential, Credential } from "@patchbay/protocol/console";
import { type ReactNode, useState } from "react";
import { api, refetch } from "../../api/api.ts";
import { GuardedButton, LinkButton } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Drawer, FormDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Facts } from "../../ui/page.tsx";
import { Select } from "../../ui/select.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Status, Time } from "../../ui/values.tsx";
import { CreatedKey } from "./created-key.tsx";
import { KINDS, nameOf, OVERLAPS } from "./kinds.ts";

/** The details of one key, with rotation and revocation. */
export function KeyPanel({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const [dialog, setDialog] = useState<"rotate" | "revoke">();
  const { kind, agentId, credentialId, hint, label, roles, state } = credential;
  const done = () => setDialog(undefined);
  return (
    <>
      <Drawer
        open
        onClose={onClose}
        title={nameOf(credential)}
        description={KINDS[kind].singular}
        footer={
          state === "active" && (
            <>
              <GuardedButton needs="developer" icon="retry" onClick={() => setDialog("rotate")}>
                Rotate
              </GuardedButton>
              <GuardedButton needs="developer" look="danger" icon="denied" onClick={() => setDialog("revoke")}>
                Revoke
              </GuardedButton>
            </>
          )
        }
      >
        <div className="grid gap-5">
          <Facts
            items={[
              ["State", <Status state={state} />],
              ["Secret", <code className="font-mono text-xs">{hint}</code>],
              ["Label", label ?? <span className="text-faint">none</span>],
              ...(kind === "api" ? [["Roles", roles?.join(", ") ?? "any"] as [string, string]] : []),
              ["Created", <Time at={credential.createdAt} exact />],
              ["Last used", <Time at={credential.lastUsedAt} exact />],
              ["Expires", <Time at={credential.expiresAt} exact />],
              ...(credential.revokedAt === null
                ? []
                : [["Revoked", <Time at={credential.revokedAt} exact />] as [string, ReactNode]]),
              [
                "ID",
                <span className="flex items-center gap-1">
                  <code className="font-mono text-xs break-all">{credentialId}</code>
                  <CopyButton text={credentialId} label="Copy ID" />
                </span>,
              ],
            ]}
          />
          <div className="flex flex-wrap gap-2">
            {kind === "api" && (
              <LinkButton
                to="/agents/$agentId/runs"
                params={{ agentId }}
                search={{ keyId: credentialId }}
                size="small"
                icon="run"
              >
                Runs with this key
              </LinkButton>
            )}
            {kind === "runtime" && (
              <LinkButton to="/agents/$agentId/runtimes" params={{ agentId }} size="small" icon="plug">
                Connected runtimes
              </LinkButton>
            )}
          </div>
        </div>
      </Drawer>
      {dialog === "rotate" && <RotateKey credential={credential} onClose={done} />}
      {dialog === "revoke" && <RevokeKey credential={credential} onClose={done} />}
    </>
  );
}

/** Replaces a secret; the old one keeps working for the overlap. */
function RotateKey({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const [seconds, setSeconds] = useState("86400");
  const [made, setMade] = useState<CreatedCredential>();
  const { kind, agentId, credentialId } = credential;
  if (made)
    return (
      <CreatedKey
        created={made}
        onClose={onClose}
        note={<OldSecret hint={credential.hint} endsAt={endOf(credential, made.credential, Number(seconds))} />}
      />
    );
  return (
    <FormDialog
      title={`Rotate ${nameOf(credential)}`}
      description={`Creates a new ${KINDS[kind].singular} with the same label${kind === "api" ? " and roles" : ""}`}
      submit="Rotate"
      send={() =>
        api.post("/agents/:agent_id/credentials/:credential_id/rotate", {
          params: { agentId, credentialId },
          body: { overlapSeconds: Number(seconds) },
        })
      }
      onSent={(created) => {
        refetchKeys();
        setMade(created);
      }}
      onClose={onClose}
    >
      <Field label="Overlap" hint="How long the old secret keeps working while you deploy the new one">
        <Select options={OVERLAPS} value={seconds} onChange={setSeconds} />
      </Field>
      {seconds === "0" && <p className="text-warn text-sm">{KINDS[kind].ends}</p>}
    </FormDialog>
  );
}

/** When the old secret stops working: after the overlap or at its own expiry, whichever is earlier. Null if it already has. */
function endOf(old: Credential, made: Credential, overlapSeconds: number): string | null {
  if (overlapSeconds === 0) return null;
  const end = new Date(Date.parse(made.createdAt) + overlapSeconds * 1_000).toISOString();
  return old.expiresAt !== null && old.expiresAt < end ? old.expiresAt : end;
}

const OldSecret = ({ hint, endsAt }: { hint: string; endsAt: string | null }) => (
  <p className="bg-info-soft text-info rounded-md px-3 py-2 text-sm">
    The old secret (<code className="font-mono text-xs">{hint}</code>){" "}
    {endsAt === null ? (
      "no longer works."
    ) : (
      <>
        works until <Time at={endsAt} exact />.
      </>
    )}
  </p>
);

/** Fetches the lists of keys again. */
export const refetchKeys = () => void refetch("/agents/:agent_id/credentials");

/** Revokes a key or a token after a confirmation. */
function RevokeKey({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { kind, agentId, credentialId, lastUsedAt } = credential;
  return (
    <FormDialog
      title={`Revoke ${nameOf(credential)}?`}
      submit={`Revoke ${KINDS[kind].singular}`}
      look="danger"
      send={() => api.delete("/agents/:agent_id/credentials/:credential_id", { params: { agentId, credentialId } })}
      onSent={() => {
        refetchKeys();
        showSuccess(`Revoked ${nameOf(credential)}`);
        onClose();
      }}
      className="grid gap-3 text-sm"
      onClose={onClose}
    >
      <p>{KINDS[kind].ends}</p>
      <p>
        {lastUsedAt === null ? (
          "Never used."
        ) : (
          <>
            Last used <Time at={lastUsedAt} />.
          </>
        )}{" "}
        This cannot be undone; rotate it instead to replace it without downtime.
      </p>
    </FormDialog>
  );
}

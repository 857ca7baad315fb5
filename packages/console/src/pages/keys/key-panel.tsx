import type { Credential } from "@patchbay/protocol/console";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { toPage } from "../../state/addresses.ts";
import { GuardedButton, LinkButton } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { Drawer, FormDialog } from "../../ui/form/dialog.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Facts } from "../../ui/page.tsx";
import { Status, Time } from "../../ui/values.tsx";
import { CreatedKey } from "./created-key.tsx";
import { KINDS, nameOf } from "./kinds.ts";
import { RotateSecret } from "../../parts/secret/secret-dialogs.tsx";

/** One key's details, with rotation and revocation. */
export function KeyPanel({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const [dialog, setDialog] = useState<"rotate" | "revoke">();
  const { kind, agentId, credentialId, hint, label, roles, state, makers } = credential;
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
        <Facts
          items={[
            ["State", <Status state={state} />],
            ["Secret", <code className="font-mono text-xs">{hint}</code>],
            ["Label", label ?? <span className="text-faint">none</span>],
            kind === "api" && ["Roles", roles?.join(", ") ?? "any"],
            ["Created", <Time at={credential.createdAt} exact />],
            makers !== undefined && ["Made by", makers.map(({ name }) => name).join(", ")],
            ["Last used", <Time at={credential.lastUsedAt} exact />],
            ["Expires", <Time at={credential.expiresAt} exact />],
            credential.revokedAt !== null && ["Revoked", <Time at={credential.revokedAt} exact />],
            ["ID", <CopyableText text={credentialId} label="Copy ID" />],
          ]}
        />
        <div className="flex flex-wrap gap-2">
          {kind === "api" && (
            <LinkButton {...toPage(agentId, "runs")} search={{ keyId: credentialId }} size="small" icon="run">
              Runs with this key
            </LinkButton>
          )}
          {kind === "runtime" && (
            <LinkButton {...toPage(agentId, "runtimes")} size="small" icon="plug">
              Connected runtimes
            </LinkButton>
          )}
        </div>
      </Drawer>
      {dialog === "rotate" && <RotateKey credential={credential} onClose={done} />}
      {dialog === "revoke" && <RevokeKey credential={credential} onClose={done} />}
    </>
  );
}

/** Replaces a secret; the old one keeps working for the overlap. */
function RotateKey({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { kind, agentId, credentialId, hint } = credential;
  return (
    <RotateSecret
      title={`Rotate ${nameOf(credential)}`}
      description={`Creates a new ${KINDS[kind].singular} with the same label${kind === "api" ? " and roles" : ""}`}
      send={async (overlapSeconds) => {
        const request = { params: { agentId, credentialId }, body: { overlapSeconds } };
        const created = await api.post("/agents/:agent_id/credentials/:credential_id/rotate", request);
        return { created, endsAt: endOf(credential, created.credential, overlapSeconds) };
      }}
      ends={KINDS[kind].ends}
      refetches={KEYS}
      result={({ created, endsAt }) => (
        <CreatedKey created={created} onClose={onClose} note={<OldSecret hint={hint} endsAt={endsAt} />} />
      )}
      onClose={onClose}
    />
  );
}

/** When the old secret stops working: after the overlap or at its own expiry, whichever is earlier. Null if it already has. */
function endOf(old: Credential, made: Credential, overlapSeconds: number): string | null {
  if (overlapSeconds === 0) return null;
  const end = new Date(Date.parse(made.createdAt) + overlapSeconds * 1_000).toISOString();
  return old.expiresAt !== null && old.expiresAt < end ? old.expiresAt : end;
}

const OldSecret = ({ hint, endsAt }: { hint: string; endsAt: string | null }) => (
  <Notice tone="info">
    The old secret (<code className="font-mono text-xs">{hint}</code>){" "}
    {endsAt === null ? (
      "no longer works."
    ) : (
      <>
        works until <Time at={endsAt} exact />.
      </>
    )}
  </Notice>
);

const KEYS = ["/agents/:agent_id/credentials"] as const;

/** Revokes a key or a token after a confirmation. */
function RevokeKey({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { kind, agentId, credentialId, lastUsedAt } = credential;
  return (
    <FormDialog
      title={`Revoke ${nameOf(credential)}?`}
      submit={`Revoke ${KINDS[kind].singular}`}
      look="danger"
      send={() => api.delete("/agents/:agent_id/credentials/:credential_id", { params: { agentId, credentialId } })}
      refetches={KEYS}
      done={`Revoked ${nameOf(credential)}`}
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

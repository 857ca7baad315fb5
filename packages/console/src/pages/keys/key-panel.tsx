import type { Credential } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { buttonClass } from "../../ui/button.tsx";
import { Facts } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Drawer } from "../../ui/dialog.tsx";
import { Time } from "../../ui/figures.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Status } from "../../ui/status.tsx";
import { KINDS, nameOf } from "./kinds.ts";
import { RevokeKey } from "./revoke-key.tsx";
import { RotateKey } from "./rotate-key.tsx";

/** All about one key, and what can be done with it. */
export function KeyPanel({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const [asked, setAsked] = useState<"rotate" | "revoke">();
  const { kind, agentId, credentialId, hint, label, roles, state } = credential;
  const done = () => setAsked(undefined);
  return (
    <>
      <Drawer
        open
        onClose={onClose}
        title={nameOf(credential)}
        description={KINDS[kind].one}
        footer={
          state === "active" && (
            <>
              <GuardedButton needs="developer" icon="retry" onClick={() => setAsked("rotate")}>
                Rotate
              </GuardedButton>
              <GuardedButton needs="developer" look="danger" icon="denied" onClick={() => setAsked("revoke")}>
                Revoke
              </GuardedButton>
            </>
          )
        }
      >
        <div className="grid gap-5">
          <Facts
            items={[
              ["State", <Status key="state" state={state} />],
              [
                "Secret",
                <code key="hint" className="font-mono text-xs">
                  {hint}
                </code>,
              ],
              ["Label", label ?? <span className="text-faint">none</span>],
              ...(kind === "api" ? [["Roles", roles?.join(", ") ?? "any"] as [string, string]] : []),
              ["Created", <Time key="created" at={credential.createdAt} exact />],
              ["Last used", <Time key="used" at={credential.lastUsedAt} exact />],
              ["Expires", <Time key="expires" at={credential.expiresAt} exact />],
              ...(credential.revokedAt === null
                ? []
                : [["Revoked", <Time key="revoked" at={credential.revokedAt} exact />] as [string, ReactNode]]),
              [
                "Id",
                <span key="id" className="flex items-center gap-1">
                  <code className="font-mono text-xs break-all">{credentialId}</code>
                  <CopyButton text={credentialId} label="Copy id" />
                </span>,
              ],
            ]}
          />
          <div className="flex flex-wrap gap-2">
            {kind === "api" && (
              <Link
                to="/agents/$agentId/runs"
                params={{ agentId }}
                search={{ keyId: credentialId }}
                className={buttonClass("secondary", "small")}
              >
                <Icon name="run" className="size-3.5" />
                Runs asked with it
              </Link>
            )}
            {kind === "runtime" && (
              <Link to="/agents/$agentId/runtimes" params={{ agentId }} className={buttonClass("secondary", "small")}>
                <Icon name="plug" className="size-3.5" />
                Connected runtimes
              </Link>
            )}
          </div>
        </div>
      </Drawer>
      {asked === "rotate" && <RotateKey credential={credential} onClose={done} />}
      {asked === "revoke" && <RevokeKey credential={credential} onClose={done} />}
    </>
  );
}

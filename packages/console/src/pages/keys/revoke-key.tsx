import type { Credential } from "@patchbay/protocol/console";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../../api/api.ts";
import { pathOfKey } from "../../api/queries.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/figures.tsx";
import { Fault } from "../../ui/states.tsx";
import { KINDS, nameOf } from "./kinds.ts";

/** Fetches lists of keys anew. */
export function useKeysChanged(): () => void {
  const queries = useQueryClient();
  return () =>
    void queries.invalidateQueries({
      predicate: ({ queryKey }) => pathOfKey(queryKey) === "/agents/:agent_id/credentials",
    });
}

export function RevokeKey({ credential, onClose }: { credential: Credential; onClose: () => void }) {
  const { kind, agentId, credentialId, lastUsedAt } = credential;
  const changed = useKeysChanged();
  const revoke = useMutation({
    mutationFn: () =>
      api.delete("/agents/:agent_id/credentials/:credential_id", {
        params: { agent_id: agentId, credential_id: credentialId },
      }),
    onSuccess: () => {
      changed();
      tellDone(`Revoked ${nameOf(credential)}`);
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Revoke ${nameOf(credential)}?`}
      footer={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button look="danger" busy={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke {KINDS[kind].one}
          </Button>
        </>
      }
    >
      <div className="grid gap-3 text-sm">
        <p>{KINDS[kind].ends}</p>
        <p>
          {lastUsedAt === null ? (
            "It was never used."
          ) : (
            <>
              It was last used <Time at={lastUsedAt} />.
            </>
          )}{" "}
          This cannot be taken back. To replace it without a gap, rotate it instead.
        </p>
        <Fault error={revoke.error} />
      </div>
    </Dialog>
  );
}

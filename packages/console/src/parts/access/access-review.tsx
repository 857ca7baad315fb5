import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, resource } from "../../api/api.ts";
import { toPage } from "../../state/addresses.ts";
import { GuardedButton, TextLink } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { TextField, useTexts } from "../../ui/form/field.tsx";
import { Badge, Time } from "../../ui/values.tsx";

/**
 * Who last signed off the access, and whether it has changed since or a review is due. `manifestHash`: the set that the
 * page shows, for a sign-off; without it, only what needs a review is shown.
 */
export function ReviewState({ agentId, manifestHash }: { agentId: string; manifestHash?: string | undefined }) {
  const { data } = useQuery(resource("/agents/:agent_id/access/review", { params: { agentId } }));
  const [open, setOpen] = useState(false);
  if (!data) return null;
  const { signed, changed, isDue } = data;
  const fault = changed.length > 0 ? `${changed.join(", ")} changed since the sign-off` : isDue && "access review due";
  if (!fault && manifestHash === undefined) return null;
  return (
    <div className="mb-2 flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm">
      <Badge tone={fault ? "warn" : signed ? "ok" : "idle"} icon={fault ? "alert" : signed ? "succeeded" : "clock"}>
        {fault || (signed ? "signed off" : "not signed off")}
      </Badge>
      {signed && (
        <span className="text-muted">
          {signed.by} signed off <Time at={signed.at} />; next review <Time at={signed.dueAt} />
        </span>
      )}
      {manifestHash === undefined ? (
        <TextLink {...toPage(agentId, "access")}>Review access</TextLink>
      ) : (
        <GuardedButton needs="developer" size="small" onClick={() => setOpen(true)}>
          Sign off
        </GuardedButton>
      )}
      {open && <SignOff agentId={agentId} manifestHash={manifestHash ?? ""} onClose={() => setOpen(false)} />}
    </div>
  );
}

function SignOff({ agentId, manifestHash, onClose }: { agentId: string; manifestHash: string; onClose: () => void }) {
  const [{ days }, field] = useTexts({ days: "90" });
  const body = { manifestHash, days: Number(days) };
  return (
    <FormDialog
      title="Sign off the access?"
      description={`Records that you reviewed function set ${manifestHash.slice(0, 8)} and its locks.`}
      submit="Sign off"
      send={() => api.post("/agents/:agent_id/access/reviews", { params: { agentId }, body })}
      refetches={["/agents/:agent_id/access/review"]}
      done="Signed off the access"
      onClose={onClose}
    >
      <TextField {...field("days")} label="Days until the next review" type="number" min={1} max={3650} required />
    </FormDialog>
  );
}

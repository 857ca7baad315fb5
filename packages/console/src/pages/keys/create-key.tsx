import type { CredentialKind } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { api, resource } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Input, TextField } from "../../ui/form/field.tsx";
import { Checkbox, Segmented } from "../../ui/form/toggle.tsx";
import { CreatedKey } from "./created-key.tsx";
import { KINDS } from "./kinds.ts";
import { ExpiryField } from "../../parts/secret/secret-dialogs.tsx";

const route = getRouteApi("/shell/agents/$agentId/keys");

/** Creates a key or an access token, then shows its secret and how to use it. */
export function CreateKey({ kind, onClose }: { kind: CredentialKind; onClose: () => void }) {
  const { agentId } = route.useParams();
  const [label, setLabel] = useState("");
  const [roles, setRoles] = useState<string[]>();
  const [days, setDays] = useState("");
  const body = {
    kind,
    ...(label.trim() !== "" && { label }),
    ...(roles && { roles }),
    ...(days !== "" && { expiresInDays: Number(days) }),
  };
  return (
    <FormDialog
      sticky
      title={KINDS[kind].title}
      description={KINDS[kind].about}
      submit={`Create ${KINDS[kind].singular}`}
      disabled={roles?.length === 0}
      send={() => api.post("/agents/:agent_id/credentials", { params: { agentId }, body })}
      refetches={["/agents/:agent_id/credentials"]}
      result={(created) => <CreatedKey created={created} onClose={onClose} />}
      onClose={onClose}
    >
      <TextField
        label="Label"
        hint="The program or machine that uses it"
        maxLength={200}
        placeholder="shop backend"
        value={label}
        onChange={setLabel}
      />
      {kind === "api" && <RolesField roles={roles} onChange={setRoles} />}
      {kind !== "access" && <ExpiryField days={days} onChange={setDays} />}
    </FormDialog>
  );
}

/** The roles that an API key may use; undefined means any. Roles that no function lists yet can be typed. */
function RolesField({ roles, onChange }: { roles: string[] | undefined; onChange: (roles?: string[]) => void }) {
  const { agentId } = route.useParams();
  const [other, setOther] = useState("");
  // Fails for an agent that never had functions: then no roles are suggested.
  const { data } = useQuery(resource("/agents/:agent_id/functions", { params: { agentId } }));
  const offered = [...new Set([...(data?.roles ?? []), ...(roles ?? [])])];
  const toggle = (role: string, checked: boolean) =>
    onChange(checked ? [...(roles ?? []), role] : (roles ?? []).filter((name) => name !== role));
  const add = (): void => {
    const role = other.trim();
    if (role !== "" && !roles?.includes(role)) onChange([...(roles ?? []), role]);
    setOther("");
  };
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 text-sm font-medium">Roles</legend>
      <div>
        <Segmented
          label="Roles"
          options={[
            { value: "any", label: "Any role" },
            { value: "some", label: "Only these" },
          ]}
          value={roles === undefined ? "any" : "some"}
          onChange={(next) => onChange(next === "any" ? undefined : [])}
        />
      </div>
      {roles === undefined ? (
        <p className="text-muted text-xs">
          The client picks the role. Restrict the roles of keys used outside your backend.
        </p>
      ) : (
        <div className="border-line grid gap-3 rounded-lg border p-3">
          {offered.length > 0 && (
            <div className="flex flex-wrap gap-x-5 gap-y-2">
              {offered.map((role) => (
                <Checkbox
                  key={role}
                  label={role}
                  checked={roles.includes(role)}
                  onChange={(checked) => toggle(role, checked)}
                />
              ))}
            </div>
          )}
          <div className="flex gap-2">
            <Input
              aria-label="Another role"
              placeholder="Another role"
              maxLength={200}
              value={other}
              onChange={(event) => setOther(event.target.value)}
              onKeyDown={(event) => {
                if (event.key !== "Enter") return;
                event.preventDefault();
                add();
              }}
            />
            <Button disabled={other.trim() === ""} onClick={add}>
              Add
            </Button>
          </div>
          {roles.length === 0 && <p className="text-muted text-xs">Choose at least one role.</p>}
        </div>
      )}
    </fieldset>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { resource } from "../../api/queries.ts";
import { Button } from "../../ui/button.tsx";
import { Input } from "../../ui/field.tsx";
import { Checkbox, Segmented } from "../../ui/toggle.tsx";

/** The roles that a key is pinned to; undefined stands for any. Roles that no function names yet can be added by hand. */
export function RolesField({
  agentId,
  roles,
  onChange,
}: {
  agentId: string;
  roles: string[] | undefined;
  onChange: (roles: string[] | undefined) => void;
}) {
  const [other, setOther] = useState("");
  // An agent that never had functions names no roles.
  const { data } = useQuery({
    ...resource("/agents/:agent_id/functions", { params: { agent_id: agentId } }),
    retry: false,
  });
  const offered = [...new Set([...(data?.roles ?? []), ...(roles ?? [])])];
  const toggle = (role: string, checked: boolean) =>
    onChange(checked ? [...(roles ?? []), role] : (roles ?? []).filter((one) => one !== role));
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
          Whoever holds the key may ask as any role. Pin a key that leaves your own backend.
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
          {roles.length === 0 && <p className="text-muted text-xs">Choose one at least.</p>}
        </div>
      )}
    </fieldset>
  );
}

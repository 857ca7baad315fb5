import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import type { ConsoleRole, Invitation } from "@patchbay/protocol/console";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { NewSecret } from "../../parts/secret/secret-dialogs.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { TextField, useTexts } from "../../ui/form/field.tsx";
import { Time } from "../../ui/values.tsx";
import { MEMBER_PATHS, ROLES } from "./members.ts";

/** Invites a member, then shows the one-time link to pass on. */
export function InviteMember({ onClose }: { onClose: () => void }) {
  const [{ email, name }, field] = useTexts({ email: "", name: "" });
  const [role, setRole] = useState<ConsoleRole>("viewer");
  return (
    <FormDialog
      title="Invite a member"
      sticky
      submit="Create invite link"
      send={() => api.post("/members", { body: { email, role, ...(name.trim() !== "" && { name: name.trim() }) } })}
      refetches={MEMBER_PATHS}
      result={(invitation) => <InvitationLink invitation={invitation} onClose={onClose} />}
      onClose={onClose}
    >
      <TextField
        {...field("email")}
        label="E-mail"
        hint="Used to sign in; no e-mail is sent"
        type="email"
        required
        maxLength={254}
        autoComplete="off"
      />
      <TextField
        {...field("name")}
        label="Name"
        hint="The member can change it when they join"
        maxLength={200}
        autoComplete="off"
      />
      <RoleField value={role} onChange={setRole} />
    </FormDialog>
  );
}

/** Shows a one-time link; the API does not return it again. */
export function InvitationLink({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const { member, link, expiresAt } = invitation;
  return (
    <NewSecret title={`Link for ${member.email ?? member.name}`} label="One-time link" secret={link} onClose={onClose}>
      <p className="text-muted text-sm text-pretty">
        {member.email === null
          ? "The link signs in as this member."
          : "Send the link to the member over a private channel; it sets their password."}{" "}
        It works once and expires <Time at={expiresAt} exact />.
      </p>
    </NewSecret>
  );
}

/** Selects a member's role, with what each role may do. */
export const RoleField = ({ value, onChange }: { value: ConsoleRole; onChange: (role: ConsoleRole) => void }) => (
  <fieldset className="min-w-0">
    <legend className="mb-1 text-sm font-medium">Role</legend>
    <RadioGroup value={value} onValueChange={(next) => onChange(next)} className="grid gap-2">
      {ROLES.map(({ role, may }) => (
        <label
          key={role}
          className="border-line hover:border-edge has-data-checked:border-accent has-data-checked:bg-accent-soft flex gap-3 rounded-lg border px-3 py-2 transition-colors"
        >
          <Radio.Root
            value={role}
            className="border-edge bg-surface data-checked:border-accent-fill mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full border"
          >
            <Radio.Indicator className="bg-accent-fill size-2 rounded-full" />
          </Radio.Root>
          <span className="min-w-0">
            <span className="block text-sm font-medium">{role}</span>
            <span className="text-muted block text-xs">{may}</span>
          </span>
        </label>
      ))}
    </RadioGroup>
  </fieldset>
);

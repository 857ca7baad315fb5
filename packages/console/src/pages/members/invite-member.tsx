import type { ConsoleRole, Invitation } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Fault } from "../../ui/states.tsx";
import { InvitationLink } from "./invitation-link.tsx";
import { RoleField } from "./role-field.tsx";
import { useMembersChanged } from "./use-members-changed.ts";

const FORM = "invite-member";

/** Asks for who it is, then shows the link to pass on. */
export function InviteMember({ onClose }: { onClose: () => void }) {
  const [invitation, setInvitation] = useState<Invitation>();
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<ConsoleRole>("viewer");
  const membersChanged = useMembersChanged();
  const invite = useMutation({
    mutationFn: () => api.post("/members", { body: { email, role, ...(name.trim() !== "" && { name: name.trim() }) } }),
    onSuccess: (made) => {
      membersChanged();
      setInvitation(made);
    },
  });
  if (invitation) return <InvitationLink invitation={invitation} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      title="Invite a member"
      sticky
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={FORM} look="primary" busy={invite.isPending}>
            Make the link
          </Button>
        </>
      }
    >
      <form
        id={FORM}
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          invite.mutate();
        }}
      >
        <Field label="E-mail" hint="They sign in with it. Nothing is sent to it: you get a link to pass on.">
          <Input
            type="email"
            required
            maxLength={254}
            autoComplete="off"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <Field label="Name" hint="They may change it when they come in.">
          <Input maxLength={200} autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />
        </Field>
        <RoleField value={role} onChange={setRole} />
        <Fault error={invite.error} />
      </form>
    </Dialog>
  );
}

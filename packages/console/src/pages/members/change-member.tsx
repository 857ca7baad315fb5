import type { Invitation, Member } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, useSession } from "../../api/api.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { InvitationLink, RoleField } from "./invite-member.tsx";
import { useMembersChanged } from "./members.ts";

export type MemberAction = "role" | "link" | "remove";

interface ChangeProps {
  member: Member;
  onClose: () => void;
}

/** The dialog of one action on a member. */
export function ChangeMember({ action, ...props }: ChangeProps & { action: MemberAction }) {
  if (action === "role") return <ChangeRole {...props} />;
  return action === "link" ? <NewLink {...props} /> : <RemoveMember {...props} />;
}

const nameOf = ({ name, email }: Member): string => name || (email ?? "this member");

function ChangeRole({ member, onClose }: ChangeProps) {
  const [role, setRole] = useState(member.role);
  const self = useSession().member.memberId === member.memberId;
  const membersChanged = useMembersChanged();
  const change = useMutation({
    mutationFn: () => api.patch("/members/:member_id", { params: { memberId: member.memberId }, body: { role } }),
    onSuccess: () => {
      membersChanged();
      showSuccess(`${nameOf(member)} is now ${role === "owner" ? "an" : "a"} ${role}`);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Change the role of ${nameOf(member)}`}
      submit="Change role"
      disabled={role === member.role}
      action={change}
      onClose={onClose}
    >
      <RoleField value={role} onChange={setRole} />
      <p className="text-muted text-sm text-pretty">
        {self
          ? "This is your own role; only another owner can change it back. Links that you created stop working."
          : "Their sessions end and links that they created stop working; they sign in again with the new role."}
      </p>
    </FormDialog>
  );
}

function NewLink({ member, onClose }: ChangeProps) {
  const [invitation, setInvitation] = useState<Invitation>();
  const membersChanged = useMembersChanged();
  const create = useMutation({
    mutationFn: () => api.post("/members/:member_id/link", { params: { memberId: member.memberId } }),
    onSuccess: (made) => {
      membersChanged();
      setInvitation(made);
    },
  });
  if (invitation) return <InvitationLink invitation={invitation} onClose={onClose} />;
  return (
    <FormDialog title={`New link for ${nameOf(member)}`} submit="Create link" action={create} onClose={onClose}>
      <p className="text-pretty">
        {member.email === null
          ? "The link signs in as this member."
          : member.active
            ? "The link sets a new password and expires after 1 hour."
            : "The link accepts the invitation and expires after 7 days."}{" "}
        Earlier links for this member stop working.
      </p>
    </FormDialog>
  );
}

function RemoveMember({ member, onClose }: ChangeProps) {
  const membersChanged = useMembersChanged();
  const remove = useMutation({
    mutationFn: () => api.delete("/members/:member_id", { params: { memberId: member.memberId } }),
    onSuccess: () => {
      membersChanged();
      showSuccess(`Removed ${nameOf(member)}`);
      onClose();
    },
  });
  return (
    <FormDialog
      title={`Remove ${nameOf(member)}?`}
      submit="Remove member"
      look="danger"
      icon="trash"
      action={remove}
      onClose={onClose}
    >
      <p className="text-pretty">
        {member.active
          ? "Their sessions end, and links that they created stop working."
          : "Their invitation stops working."}{" "}
        Keys that they created keep working; the audit log keeps their entries.
      </p>
    </FormDialog>
  );
}

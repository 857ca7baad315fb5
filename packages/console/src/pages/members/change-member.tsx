import type { Member } from "@patchbay/protocol/console";
import { useState } from "react";
import { api, useSession } from "../../api/api.ts";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { InvitationLink, RoleField } from "./invite-member.tsx";
import { MEMBER_PATHS } from "./members.ts";

export type MemberAction = "role" | "link" | "remove";

interface ChangeProps {
  member: Member;
  onClose: () => void;
}

/** The dialog for one action on a member. */
export function ChangeMember({ action, ...props }: ChangeProps & { action: MemberAction }) {
  if (action === "role") return <ChangeRole {...props} />;
  return action === "link" ? <NewLink {...props} /> : <RemoveMember {...props} />;
}

const nameOf = ({ name, email }: Member): string => name || (email ?? "this member");

function ChangeRole({ member, onClose }: ChangeProps) {
  const [role, setRole] = useState(member.role);
  const { memberId } = member;
  const self = useSession().member.memberId === memberId;
  return (
    <FormDialog
      title={`Change the role of ${nameOf(member)}`}
      submit="Change role"
      disabled={role === member.role}
      send={() => api.patch("/members/:member_id", { params: { memberId }, body: { role } })}
      refetches={MEMBER_PATHS}
      done={`${nameOf(member)} is now ${role === "owner" ? "an" : "a"} ${role}`}
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

const NewLink = ({ member, onClose }: ChangeProps) => (
  <FormDialog
    title={`New link for ${nameOf(member)}`}
    submit="Create link"
    send={() => api.post("/members/:member_id/link", { params: { memberId: member.memberId } })}
    refetches={MEMBER_PATHS}
    result={(invitation) => <InvitationLink invitation={invitation} onClose={onClose} />}
    onClose={onClose}
  >
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

const RemoveMember = ({ member, onClose }: ChangeProps) => (
  <FormDialog
    title={`Remove ${nameOf(member)}?`}
    submit="Remove member"
    look="danger"
    icon="trash"
    send={() => api.delete("/members/:member_id", { params: { memberId: member.memberId } })}
    refetches={MEMBER_PATHS}
    done={`Removed ${nameOf(member)}`}
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

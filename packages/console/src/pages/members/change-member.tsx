import type { Invitation, Member } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { api } from "../../api/api.ts";
import { useSession } from "../../state/session.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Fault } from "../../ui/states.tsx";
import { InvitationLink } from "./invitation-link.tsx";
import { RoleField } from "./role-field.tsx";
import { useMembersChanged } from "./use-members-changed.ts";

export type MemberAction = "role" | "link" | "remove";

interface ChangeProps {
  member: Member;
  onClose: () => void;
}

/** What an owner changes about a member. */
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
    mutationFn: () => api.patch("/members/:member_id", { params: { member_id: member.memberId }, body: { role } }),
    onSuccess: () => {
      membersChanged();
      tellDone(`${nameOf(member)} is ${role === "owner" ? "an" : "a"} ${role} now`);
      onClose();
    },
  });
  return (
    <Question
      title={`Role of ${nameOf(member)}`}
      error={change.error}
      onClose={onClose}
      action={
        <Button look="primary" busy={change.isPending} disabled={role === member.role} onClick={() => change.mutate()}>
          Change role
        </Button>
      }
    >
      <RoleField value={role} onChange={setRole} />
      <p className="text-muted text-sm text-pretty">
        {self
          ? "This is your own role: only another owner can change it back. Links that you made stop working."
          : "Their sessions end, and links that they made stop working. They sign in again with the new role."}
      </p>
    </Question>
  );
}

function NewLink({ member, onClose }: ChangeProps) {
  const [invitation, setInvitation] = useState<Invitation>();
  const membersChanged = useMembersChanged();
  const make = useMutation({
    mutationFn: () => api.post("/members/:member_id/link", { params: { member_id: member.memberId } }),
    onSuccess: (made) => {
      membersChanged();
      setInvitation(made);
    },
  });
  if (invitation) return <InvitationLink invitation={invitation} onClose={onClose} />;
  return (
    <Question
      title={`New link for ${nameOf(member)}`}
      error={make.error}
      onClose={onClose}
      action={
        <Button look="primary" busy={make.isPending} onClick={() => make.mutate()}>
          Make the link
        </Button>
      }
    >
      <p className="text-pretty">
        {member.email === null
          ? "It signs in as this member."
          : member.active
            ? "It sets another password for this member, and expires after 1 hour."
            : "It lets the invited person join, and expires after 7 days."}{" "}
        Earlier links for this member stop working.
      </p>
    </Question>
  );
}

function RemoveMember({ member, onClose }: ChangeProps) {
  const membersChanged = useMembersChanged();
  const remove = useMutation({
    mutationFn: () => api.delete("/members/:member_id", { params: { member_id: member.memberId } }),
    onSuccess: () => {
      membersChanged();
      tellDone(`${nameOf(member)} is removed`);
      onClose();
    },
  });
  return (
    <Question
      title={`Remove ${nameOf(member)}?`}
      error={remove.error}
      onClose={onClose}
      action={
        <Button look="danger" icon="trash" busy={remove.isPending} onClick={() => remove.mutate()}>
          Remove
        </Button>
      }
    >
      <p className="text-pretty">
        {member.active
          ? "Their sessions end, they can no longer sign in, and links that they made stop working."
          : "Their invitation stops working."}{" "}
        Keys that they made keep working, and the audit log keeps their entries.
      </p>
    </Question>
  );
}

function Question({
  title,
  error,
  action,
  onClose,
  children,
}: {
  title: string;
  error: unknown;
  action: ReactNode;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {action}
        </>
      }
    >
      <div className="grid gap-4">
        {children}
        <Fault error={error} />
      </div>
    </Dialog>
  );
}

import type { PendingLink } from "@patchbay/protocol/console";
import { useInfiniteQuery, useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { list } from "../../api/queries.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/card.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/figures.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { EmptyState, Fault } from "../../ui/states.tsx";
import { useMembersChanged } from "./use-members-changed.ts";

/** One-time links that can still be used. */
export function PendingLinks() {
  const links = useInfiniteQuery(list("/links", { query: { limit: 100 } }));
  const [withdrawn, setWithdrawn] = useState<PendingLink>();
  return (
    <Card
      title="Pending links"
      description="Each link works once. Withdraw a link that went to the wrong person."
      flush
    >
      <DataTable
        caption="Pending links"
        query={links}
        columns={COLUMNS}
        rowKey={({ member }) => member.memberId}
        actions={(link) => (
          <GuardedButton needs="owner" size="small" onClick={() => setWithdrawn(link)}>
            Withdraw<span className="sr-only"> the link for {nameOf(link.member)}</span>
          </GuardedButton>
        )}
        empty={<EmptyState icon="key" title="No pending links" />}
      />
      {withdrawn && <Withdraw link={withdrawn} onClose={() => setWithdrawn(undefined)} />}
    </Card>
  );
}

function Withdraw({ link, onClose }: { link: PendingLink; onClose: () => void }) {
  const { member } = link;
  const membersChanged = useMembersChanged();
  const withdraw = useMutation({
    mutationFn: () => api.delete("/members/:member_id/link", { params: { member_id: member.memberId } }),
    onSuccess: () => {
      membersChanged();
      tellDone(`The link for ${nameOf(member)} is withdrawn`);
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Withdraw the link for ${nameOf(member)}?`}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" busy={withdraw.isPending} onClick={() => withdraw.mutate()}>
            Withdraw
          </Button>
        </>
      }
    >
      <div className="grid gap-3">
        <p className="text-pretty">
          {member.active
            ? "The link stops working. The member keeps the present password and role."
            : "The link stops working, and the invitation is removed from the list of members."}
        </p>
        <Fault error={withdraw.error} />
      </div>
    </Dialog>
  );
}

const nameOf = ({ name, email }: { name: string; email: string | null }): string => email ?? name;

/** What the link does for its holder. */
function purposeOf({ active, email }: PendingLink["member"]): string {
  if (email === null) return "signs in";
  return active ? "sets another password" : "joins";
}

const COLUMNS: Column<PendingLink>[] = [
  { head: "For", cell: ({ member }) => <span className="font-medium">{nameOf(member)}</span> },
  { head: "Purpose", cell: ({ member }) => `${purposeOf(member)} as ${member.role}` },
  { head: "Made by", cell: ({ createdBy }) => (createdBy ? nameOf(createdBy) : "a command on the server") },
  { head: "Made", align: "end", from: "md", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Expires", align: "end", cell: ({ expiresAt }) => <Time at={expiresAt} exact /> },
];

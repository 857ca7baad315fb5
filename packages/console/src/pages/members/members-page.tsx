import type { Member, PendingLink } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { api, useHasRole, useList, useSession } from "../../api/api.ts";
import { operatorCommand } from "../../format/snippets.ts";
import { GuardedButton, IconButton, useDisabledReason } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Card, EmptyState, Facts, PageHeader } from "../../ui/page.tsx";
import { Menu, MenuItem, MenuSeparator } from "../../ui/popover.tsx";
import { Badge, Status, Time, TwoLines } from "../../ui/values.tsx";
import type { MemberAction } from "./change-member.tsx";
import { MEMBER_PATHS, ROLES } from "./members.ts";

const InviteMember = lazy(async () => ({ default: (await import("./invite-member.tsx")).InviteMember }));
const ChangeMember = lazy(async () => ({ default: (await import("./change-member.tsx")).ChangeMember }));

const route = getRouteApi("/shell/members");

/** The organisation's members with their roles, and their pending links. */
export function MembersPage() {
  const { create } = route.useSearch();
  const navigate = route.useNavigate();
  const mayChange = useHasRole("owner");
  const command = operatorCommand("members invite EMAIL --role owner", useSession().databaseOption);
  const members = useList("/members", { query: { limit: 100 } });
  const [dialog, setDialog] = useState<{ member: Member; action: MemberAction }>();
  const setCreate = (open: boolean) =>
    void navigate({ search: { create: open ? "1" : undefined }, replace: !open, resetScroll: false });
  const owners = members.data?.filter(({ role, active }) => role === "owner" && active).length ?? 0;
  // Owners on pages that are not loaded count too, so this may miss; the API always refuses to remove the last owner.
  const isLastOwner = (member: Member) =>
    member.role === "owner" && member.active && owners === 1 && !members.hasNextPage;
  return (
    <>
      <PageHeader
        title="Members"
        description="People who can sign in to this console; their roles are not query roles"
        actions={
          <GuardedButton needs="owner" look="primary" icon="plus" onClick={() => setCreate(true)}>
            Invite a member
          </GuardedButton>
        }
      />
      <div className="grid gap-5">
        <DataTable
          caption="Members"
          query={members}
          columns={COLUMNS}
          rowKey={({ memberId }) => memberId}
          actions={(member) => (
            <Actions
              member={member}
              lastOwner={isLastOwner(member)}
              onAction={(action) => setDialog({ member, action })}
            />
          )}
          empty={<EmptyState icon="members" title="No members" command={command} />}
        />
        <PendingLinks />
        <Card title="Roles" className="max-w-3xl">
          <Facts items={ROLES.map(({ role, may }) => [role, may])} />
        </Card>
      </div>
      <Suspense>
        {create !== undefined && mayChange && <InviteMember onClose={() => setCreate(false)} />}
        {dialog && <ChangeMember {...dialog} onClose={() => setDialog(undefined)} />}
      </Suspense>
    </>
  );
}

interface ActionsProps {
  member: Member;
  lastOwner: boolean;
  onAction: (action: MemberAction) => void;
}

function Actions({ member, lastOwner, onAction }: ActionsProps) {
  const name = member.name || member.email || "member";
  const notAllowed = useDisabledReason("owner");
  const reason =
    notAllowed ?? (lastOwner ? "The organisation needs an owner. Make another member an owner first." : undefined);
  return (
    <Menu trigger={<IconButton icon="more" label={`Change ${name}`} size="small" />}>
      <MenuItem icon="access" disabled={reason !== undefined} onSelect={() => onAction("role")}>
        Change role
      </MenuItem>
      <MenuItem icon="key" disabled={notAllowed !== undefined} onSelect={() => onAction("link")}>
        New link
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon="trash" danger disabled={reason !== undefined} onSelect={() => onAction("remove")}>
        Remove
      </MenuItem>
      {reason !== undefined && <p className="text-muted max-w-52 px-2 py-1.5 text-xs text-pretty">{reason}</p>}
    </Menu>
  );
}

function Named({ member }: { member: Member }) {
  const self = useSession().member.memberId === member.memberId;
  return (
    <TwoLines
      first={
        <span className="flex items-center gap-2">
          {member.name || member.email}
          {self && <Badge>you</Badge>}
        </span>
      }
      second={member.email ?? "signs in by link"}
    />
  );
}

const COLUMNS: Column<Member>[] = [
  { head: "Name", cell: (member) => <Named member={member} /> },
  {
    head: "Role",
    cell: ({ role }) => (
      <Badge tone={role === "owner" ? "accent" : role === "developer" ? "info" : "idle"}>{role}</Badge>
    ),
  },
  { head: "State", cell: ({ active }) => <Status state={active ? "active" : "invited"} /> },
  { head: "Last seen", align: "end", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
  { head: "Added", align: "end", from: "md", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** One-time links that were not used yet. */
function PendingLinks() {
  const links = useList("/links", { query: { limit: 100 } });
  const [withdrawn, setWithdrawn] = useState<PendingLink>();
  return (
    <DataTable
      title="Pending links"
      description="Each link works once; withdraw one that went to the wrong person"
      query={links}
      columns={LINK_COLUMNS}
      rowKey={({ member }) => member.memberId}
      actions={(link) => (
        <GuardedButton needs="owner" size="small" onClick={() => setWithdrawn(link)}>
          Withdraw<span className="sr-only"> the link for {nameOf(link.member)}</span>
        </GuardedButton>
      )}
      empty={<EmptyState icon="key" title="No pending links" />}
    >
      {withdrawn && <Withdraw link={withdrawn} onClose={() => setWithdrawn(undefined)} />}
    </DataTable>
  );
}

const Withdraw = ({ link: { member }, onClose }: { link: PendingLink; onClose: () => void }) => (
  <FormDialog
    title={`Withdraw the link for ${nameOf(member)}?`}
    submit="Withdraw"
    look="danger"
    send={() => api.delete("/members/:member_id/link", { params: { memberId: member.memberId } })}
    refetches={MEMBER_PATHS}
    done={`Withdrew the link for ${nameOf(member)}`}
    onClose={onClose}
  >
    <p className="text-pretty">
      {member.active
        ? "The link stops working; the member keeps their password and role."
        : "The link stops working, and the invitation disappears from the members."}
    </p>
  </FormDialog>
);

const nameOf = ({ name, email }: { name: string; email: string | null }): string => email ?? name;

/** What the link does. */
function purposeOf({ active, email }: PendingLink["member"]): string {
  if (email === null) return "signs in";
  return active ? "sets a new password" : "joins";
}

const LINK_COLUMNS: Column<PendingLink>[] = [
  { head: "For", cell: ({ member }) => <span className="font-medium">{nameOf(member)}</span> },
  { head: "Purpose", cell: ({ member }) => `${purposeOf(member)} as ${member.role}` },
  { head: "Created by", cell: ({ createdBy }) => (createdBy ? nameOf(createdBy) : "CLI or token") },
  { head: "Created", align: "end", from: "md", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Expires", align: "end", cell: ({ expiresAt }) => <Time at={expiresAt} exact /> },
];

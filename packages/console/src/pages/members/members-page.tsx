import type { Member } from "@patchbay/protocol/console";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { list } from "../../api/queries.ts";
import { useMay, useSession } from "../../state/session.ts";
import { IconButton } from "../../ui/button.tsx";
import { Card, Facts } from "../../ui/card.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { Time } from "../../ui/figures.tsx";
import { GuardedButton, useReason } from "../../ui/guarded-button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { Menu, MenuItem, MenuLine } from "../../ui/popover.tsx";
import { EmptyState } from "../../ui/states.tsx";
import { Badge } from "../../ui/status.tsx";
import type { MemberAction } from "./change-member.tsx";
import { PendingLinks } from "./pending-links.tsx";
import { ROLES } from "./role-field.tsx";

const InviteMember = lazy(async () => ({ default: (await import("./invite-member.tsx")).InviteMember }));
const ChangeMember = lazy(async () => ({ default: (await import("./change-member.tsx")).ChangeMember }));

const route = getRouteApi("/shell/members");

/** Who may sign in, as what. */
export function MembersPage() {
  const { create } = route.useSearch();
  const navigate = route.useNavigate();
  const mayChange = useMay("owner");
  const members = useInfiniteQuery(list("/members", { query: { limit: 100 } }));
  const [asked, setAsked] = useState<{ member: Member; action: MemberAction }>();
  const setCreate = (open: boolean) =>
    void navigate({ search: { create: open ? "1" : undefined }, replace: !open, resetScroll: false });
  const owners = members.data?.filter(({ role, active }) => role === "owner" && active).length ?? 0;
  // Those of pages that are not loaded count too: the service itself refuses whatever would leave nobody.
  const isLastOwner = (member: Member) =>
    member.role === "owner" && member.active && owners === 1 && !members.hasNextPage;
  return (
    <>
      <PageHeader
        title="Members"
        description="Who may sign in to the console, and as what. Roles of queries are something else."
        actions={
          <GuardedButton needs="owner" look="primary" icon="plus" onClick={() => setCreate(true)}>
            Invite a member
          </GuardedButton>
        }
      />
      <div className="grid gap-5">
        <Card flush>
          <DataTable
            caption="Members"
            query={members}
            columns={COLUMNS}
            rowKey={({ memberId }) => memberId}
            actions={(member) => (
              <Actions
                member={member}
                lastOwner={isLastOwner(member)}
                onAsk={(action) => setAsked({ member, action })}
              />
            )}
            empty={<EmptyState icon="members" title="No members" command="patchbay members invite EMAIL" />}
          />
        </Card>
        <PendingLinks />
        <Card title="Roles" className="max-w-3xl">
          <Facts items={ROLES.map(({ role, may }) => [role, may])} />
        </Card>
      </div>
      <Suspense>
        {create !== undefined && mayChange && <InviteMember onClose={() => setCreate(false)} />}
        {asked && <ChangeMember {...asked} onClose={() => setAsked(undefined)} />}
      </Suspense>
    </>
  );
}

function Actions({
  member,
  lastOwner,
  onAsk,
}: {
  member: Member;
  lastOwner: boolean;
  onAsk: (action: MemberAction) => void;
}) {
  const name = member.name || member.email || "member";
  const notAllowed = useReason("owner");
  const reason = notAllowed ?? (lastOwner ? "The last owner stays. Make another member an owner first." : undefined);
  return (
    <Menu trigger={<IconButton icon="more" label={`Change ${name}`} size="small" />}>
      <MenuItem icon="access" disabled={reason !== undefined} onSelect={() => onAsk("role")}>
        Change role
      </MenuItem>
      <MenuItem icon="key" disabled={notAllowed !== undefined} onSelect={() => onAsk("link")}>
        New link
      </MenuItem>
      <MenuLine />
      <MenuItem icon="trash" danger disabled={reason !== undefined} onSelect={() => onAsk("remove")}>
        Remove
      </MenuItem>
      {reason !== undefined && <p className="text-muted max-w-52 px-2 py-1.5 text-xs text-pretty">{reason}</p>}
    </Menu>
  );
}

function Named({ member }: { member: Member }) {
  const self = useSession().member.memberId === member.memberId;
  return (
    <span className="block min-w-0">
      <span className="flex items-center gap-2 font-medium">
        {member.name || member.email}
        {self && <Badge>you</Badge>}
      </span>
      <span className="text-muted block text-xs">{member.email ?? "signs in by link"}</span>
    </span>
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
  {
    head: "State",
    cell: ({ active }) =>
      active ? (
        <Badge tone="ok" icon="succeeded">
          active
        </Badge>
      ) : (
        <Badge tone="warn" icon="clock">
          invited
        </Badge>
      ),
  },
  { head: "Last seen", align: "end", cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
  { head: "Added", align: "end", from: "md", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

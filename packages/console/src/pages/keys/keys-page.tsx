import type { Credential, CredentialKind } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useHasRole, useList, useSession } from "../../api/api.ts";
import { operatorCommand } from "../../format/snippets.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import { rowButton } from "../../ui/table/row-button.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { EmptyState, PageHeader } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Badge, Status, Time, TwoLines } from "../../ui/values.tsx";
import { Badges } from "../../ui/badges.tsx";
import { endsSoon, KINDS } from "./kinds.ts";

const CreateKey = lazy(async () => ({ default: (await import("./create-key.tsx")).CreateKey }));
const KeyPanel = lazy(async () => ({ default: (await import("./key-panel.tsx")).KeyPanel }));

const route = getRouteApi("/shell/agents/$agentId/keys");
const ORDER = Object.keys(KINDS) as CredentialKind[];

/** An agent's keys and tokens, by kind. */
export function KeysPage() {
  const { kind = "api", create } = route.useSearch();
  const navigate = route.useNavigate();
  const mayCreate = useHasRole("developer");
  const setCreate = (next: CredentialKind | undefined) =>
    void navigate({ search: (before) => ({ ...before, create: next }), replace: next === undefined });
  return (
    <>
      <PageHeader
        title="Keys"
        description="Keys work for this agent only, and their secrets are shown only once"
        actions={
          <GuardedButton needs="developer" look="primary" icon="plus" onClick={() => setCreate(kind)}>
            {KINDS[kind].title}
          </GuardedButton>
        }
      />
      <Tabs
        value={kind}
        onChange={(next) => void navigate({ search: { kind: next }, replace: true })}
        tabs={ORDER.map((value) => ({ value, label: KINDS[value].plural, content: <KeyList kind={value} /> }))}
      />
      <Suspense>{create && mayCreate && <CreateKey kind={create} onClose={() => setCreate(undefined)} />}</Suspense>
    </>
  );
}

function KeyList({ kind }: { kind: CredentialKind }) {
  const { agentId } = route.useParams();
  const { databaseOption } = useSession();
  const { key: selectedId } = route.useSearch();
  const change = useSearchChange(route);
  const keys = useList("/agents/:agent_id/credentials", { params: { agentId }, query: { kind } });
  const selected = keys.data?.find(({ credentialId }) => credentialId === selectedId);
  return (
    <>
      <p className="text-muted mb-3 max-w-prose text-sm">{KINDS[kind].about}</p>
      <DataTable
        caption={KINDS[kind].plural}
        query={keys}
        columns={COLUMNS[kind]}
        rowKey={({ credentialId }) => credentialId}
        link={rowButton(({ credentialId }) => change({ key: credentialId }))}
        empty={
          <EmptyState
            icon="key"
            title={`No ${KINDS[kind].singular} yet`}
            command={operatorCommand(`${KINDS[kind].command} --agent ${agentId}`, databaseOption)}
          >
            Create one here, or with the CLI on the server.
          </EmptyState>
        }
      />
      <Suspense>
        {selected && (
          <KeyPanel key={selected.credentialId} credential={selected} onClose={() => change({ key: undefined })} />
        )}
      </Suspense>
    </>
  );
}

const NAME: Column<Credential> = {
  head: "Key",
  cell: ({ label, hint }) => (
    <TwoLines first={label ?? <span className="text-muted italic">no label</span>} second={hint} id />
  ),
};

const ROLES: Column<Credential> = {
  head: "Roles",
  cell: ({ roles }) =>
    roles === null ? (
      <span className="text-muted">any</span>
    ) : (
      <span className="flex flex-wrap gap-1 max-sm:justify-end">
        <Badges of={roles} tone="accent" />
      </span>
    ),
};

function State({ credential }: { credential: Credential }) {
  const end = endsSoon(credential, Date.now());
  if (end === undefined) return <Status state={credential.state} />;
  return (
    <Badge tone="warn" icon="clock">
      ends <Time at={end} />
    </Badge>
  );
}

const REST: Column<Credential>[] = [
  { head: "State", cell: (credential) => <State credential={credential} /> },
  { head: "Last used", align: "end", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
  {
    head: "Expires",
    align: "end",
    from: "md",
    cell: ({ expiresAt, revokedAt }) => <Time at={revokedAt === null ? expiresAt : null} none="–" />,
  },
  { head: "Created", align: "end", from: "lg", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

const COLUMNS: Record<CredentialKind, Column<Credential>[]> = {
  api: [NAME, ROLES, ...REST],
  runtime: [NAME, ...REST],
  access: [{ ...NAME, head: "Token" }, ...REST],
};

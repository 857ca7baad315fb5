import type { CreatedServiceToken, ServiceScope, ServiceToken } from "@patchbay/protocol/console";
import { useState } from "react";
import { api, useList, useSession } from "../../api/api.ts";
import { operatorCommand } from "../../format/snippets.ts";
import { GuardedButton, IconButton } from "../../ui/button.tsx";
import { DataTable } from "../../ui/table/data-table.tsx";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { TextField, useTexts } from "../../ui/form/field.tsx";
import { EmptyState } from "../../ui/page.tsx";
import { Menu, MenuItem } from "../../ui/popover.tsx";
import type { Column } from "../../ui/table/table-rows.tsx";
import { Checkbox } from "../../ui/form/toggle.tsx";
import { Status, Time, TwoLines } from "../../ui/values.tsx";
import { Badges } from "../../ui/badges.tsx";
import { ExpiryField, NewSecret, RotateSecret } from "../../parts/secret/secret-dialogs.tsx";

/** What each scope permits. `:write` includes `:read`. */
const SCOPES: Record<ServiceScope, string> = {
  "agents:read": "Read agents",
  "agents:write": "Manage agents",
  "keys:read": "Read API keys",
  "keys:write": "Manage API keys",
  "runtime-keys:read": "Read runtime keys",
  "runtime-keys:write": "Manage runtime keys",
  "members:read": "Read members",
  "members:write": "Manage members",
  "credits:read": "Read credits",
  "audit:read": "Read the audit log",
  "approvals:read": "Read approvals",
  "approvals:write": "Decide approvals",
  "calls:read": "Read calls",
  "calls:content": "Read call arguments",
  "service-tokens:read": "Read service tokens",
  "service-tokens:write": "Manage service tokens",
};
const ALL = Object.keys(SCOPES) as ServiceScope[];

type Open = { kind: "create" } | { kind: "rotate" | "revoke"; token: ServiceToken };

const nameOf = ({ label, hint }: ServiceToken): string => label ?? hint;

/** Tokens with which programs manage the organisation. Only owners see them. */
export function ServiceTokens() {
  const tokens = useList("/service-tokens", { query: { limit: 50 } });
  const command = operatorCommand("service-tokens create --scopes agents:read", useSession().databaseOption);
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  return (
    <DataTable
      title="Service tokens"
      description="Programs manage this organisation with them, over the API under /api"
      titleActions={
        <GuardedButton needs="owner" size="small" icon="plus" onClick={() => setOpen({ kind: "create" })}>
          New service token
        </GuardedButton>
      }
      query={tokens}
      columns={COLUMNS}
      rowKey={({ tokenId }) => tokenId}
      actions={(token) =>
        token.state === "active" && (
          <Menu trigger={<IconButton icon="more" label={`Change ${nameOf(token)}`} size="small" />}>
            <MenuItem icon="retry" onSelect={() => setOpen({ kind: "rotate", token })}>
              Rotate
            </MenuItem>
            <MenuItem icon="denied" danger onSelect={() => setOpen({ kind: "revoke", token })}>
              Revoke
            </MenuItem>
          </Menu>
        )
      }
      empty={<EmptyState icon="key" title="No service tokens" command={command} />}
    >
      {open?.kind === "create" && <CreateToken onClose={close} />}
      {open?.kind === "rotate" && <RotateToken token={open.token} onClose={close} />}
      {open?.kind === "revoke" && <RevokeToken token={open.token} onClose={close} />}
    </DataTable>
  );
}

const COLUMNS: Column<ServiceToken>[] = [
  {
    head: "Token",
    cell: ({ label, hint }) => (
      <TwoLines first={label ?? <span className="text-muted italic">no label</span>} second={hint} id />
    ),
  },
  {
    head: "Scopes",
    cell: ({ scopes }) =>
      scopes.length === ALL.length ? (
        "all"
      ) : (
        <span className="flex flex-wrap gap-1 max-sm:justify-end">
          <Badges of={scopes} />
        </span>
      ),
  },
  { head: "State", cell: ({ state }) => <Status state={state} /> },
  { head: "Last used", align: "end", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
  { head: "Expires", align: "end", from: "md", cell: ({ expiresAt }) => <Time at={expiresAt} /> },
];

function CreateToken({ onClose }: { onClose: () => void }) {
  const [{ label }, field] = useTexts({ label: "" });
  const [scopes, setScopes] = useState<ServiceScope[]>([]);
  const [days, setDays] = useState("90");
  const body = {
    scopes,
    ...(label.trim() !== "" && { label: label.trim() }),
    ...(days !== "" && { expiresInDays: Number(days) }),
  };
  const toggle = (scope: ServiceScope, checked: boolean) =>
    setScopes((before) => (checked ? [...before, scope] : before.filter((other) => other !== scope)));
  return (
    <FormDialog
      sticky
      title="New service token"
      description="Lets a program manage this organisation within the scopes that you choose"
      submit="Create service token"
      disabled={scopes.length === 0}
      send={() => api.post("/service-tokens", { body })}
      refetches={["/service-tokens"]}
      result={(created) => <NewToken created={created} onClose={onClose} />}
      onClose={onClose}
    >
      <TextField
        {...field("label")}
        label="Label"
        hint="The program that uses it"
        maxLength={200}
        placeholder="terraform"
      />
      <fieldset className="min-w-0">
        <legend className="mb-1 text-sm font-medium">Scopes</legend>
        <div className="grid gap-2 sm:grid-cols-2">
          {ALL.map((scope) => (
            <Checkbox
              key={scope}
              label={SCOPES[scope]}
              checked={scopes.includes(scope) || scopes.some((other) => other === scope.replace(/:read$/, ":write"))}
              disabled={scope.endsWith(":read") && scopes.some((other) => other === scope.replace(/:read$/, ":write"))}
              onChange={(checked) => toggle(scope, checked)}
            />
          ))}
        </div>
      </fieldset>
      <ExpiryField days={days} onChange={setDays} />
    </FormDialog>
  );
}

const NewToken = ({ created: { secret }, onClose }: { created: CreatedServiceToken; onClose: () => void }) => (
  <NewSecret title="Your new service token" label="Service token" secret={secret} onClose={onClose}>
    <p className="text-muted text-sm text-pretty">
      Programs send it as <code className="font-mono text-xs">Authorization: Bearer</code>.
    </p>
  </NewSecret>
);

function RotateToken({ token, onClose }: { token: ServiceToken; onClose: () => void }) {
  const params = { tokenId: token.tokenId };
  return (
    <RotateSecret
      title={`Rotate ${nameOf(token)}`}
      description="Creates a new service token with the same label and scopes"
      send={(overlapSeconds) => api.post("/service-tokens/:token_id/rotate", { params, body: { overlapSeconds } })}
      refetches={["/service-tokens"]}
      result={(created) => <NewToken created={created} onClose={onClose} />}
      onClose={onClose}
    />
  );
}

const RevokeToken = ({ token, onClose }: { token: ServiceToken; onClose: () => void }) => (
  <FormDialog
    title={`Revoke ${nameOf(token)}?`}
    submit="Revoke service token"
    look="danger"
    send={() => api.delete("/service-tokens/:token_id", { params: { tokenId: token.tokenId } })}
    refetches={["/service-tokens"]}
    done={`Revoked ${nameOf(token)}`}
    onClose={onClose}
  >
    <p className="text-pretty">
      Requests with this token fail at once, and unused links that it created for members stop working.
    </p>
  </FormDialog>
);

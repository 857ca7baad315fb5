import type { Organisation } from "@patchbay/protocol/console";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";
import { api } from "../../api/api.ts";
import { resource, sessionQuery } from "../../api/queries.ts";
import { formatCount } from "../../format/numbers.ts";
import { countOf } from "../../format/words.ts";
import { useMay, useSession } from "../../state/session.ts";
import { tellDone } from "../../state/toasts.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Card, Facts } from "../../ui/card.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Money, Time } from "../../ui/figures.tsx";
import { GuardedButton } from "../../ui/guarded-button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { ErrorState, Fault, Loading, Skeleton } from "../../ui/states.tsx";
import { Badge } from "../../ui/status.tsx";

const organisationQuery = () => resource("/organisation");

/** The organisation: its name, what its tier allows, and how long things are kept. */
export function SettingsPage() {
  const { data: organisation, error, refetch } = useQuery(organisationQuery());
  return (
    <>
      <PageHeader title="Organisation" />
      {organisation ? (
        <div className="grid max-w-5xl gap-5 lg:grid-cols-2">
          <General organisation={organisation} />
          <TierCard organisation={organisation} />
          <Retention organisation={organisation} />
          <Interface />
        </div>
      ) : error ? (
        <ErrorState error={error} onRetry={() => void refetch()} />
      ) : (
        <Loading label="Loading the organisation">
          <div className="grid max-w-5xl gap-5 lg:grid-cols-2">
            {[1, 2, 3, 4].map((card) => (
              <Skeleton key={card} className="h-56 w-full rounded-lg" />
            ))}
          </div>
        </Loading>
      )}
    </>
  );
}

const linkClass = "text-accent underline underline-offset-2";

function General({ organisation }: { organisation: Organisation }) {
  const { orgId, agents, members, createdAt } = organisation;
  return (
    <Card title="General">
      <div className="grid gap-5">
        <NameForm key={organisation.name} present={organisation.name} />
        <Facts
          items={[
            [
              "Id",
              <span key="id" className="flex items-center gap-1">
                <code className="min-w-0 font-mono text-xs break-all">{orgId}</code>
                <span className="-my-1">
                  <CopyButton text={orgId} label="Copy organisation id" />
                </span>
              </span>,
            ],
            [
              "Agents",
              <Link key="agents" to="/agents" className={linkClass}>
                {countOf(agents, "agent")}
              </Link>,
            ],
            [
              "Members",
              <Link key="members" to="/members" className={linkClass}>
                {countOf(members, "member")}
              </Link>,
            ],
            ["Created", <Time key="created" at={createdAt} />],
          ]}
        />
      </div>
    </Card>
  );
}

function NameForm({ present }: { present: string }) {
  const queries = useQueryClient();
  const mayChange = useMay("owner");
  const [name, setName] = useState(present);
  const rename = useMutation({
    mutationFn: () => api.patch("/organisation", { body: { name: name.trim() } }),
    onSuccess: (organisation) => {
      queries.setQueryData(organisationQuery().queryKey, organisation);
      void queries.invalidateQueries({ queryKey: sessionQuery().queryKey });
      tellDone("The organisation is renamed");
    },
  });
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        rename.mutate();
      }}
    >
      <Field label="Name" hint="Shown to members, and to those who are invited.">
        <Input
          required
          maxLength={200}
          readOnly={!mayChange}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
      </Field>
      <Fault error={rename.error} />
      <GuardedButton
        needs="owner"
        type="submit"
        busy={rename.isPending}
        disabled={name.trim() === "" || name.trim() === present}
        className="justify-self-start"
      >
        Save name
      </GuardedButton>
    </form>
  );
}

function TierCard({ organisation }: { organisation: Organisation }) {
  const { tier, queriesPerMinute, charged, balanceUsd } = organisation;
  return (
    <Card title="Tier" actions={<Badge tone="accent">{tier}</Badge>}>
      <div className="grid gap-4">
        <Facts
          items={[
            ["Queries", queriesPerMinute === null ? "no limit" : `${formatCount(queriesPerMinute)} a minute at most`],
            ["Model turns", charged ? "paid from credits" : "cost no credits"],
            [
              "Balance",
              <Link key="balance" to="/credits" className={linkClass}>
                <Money usd={balanceUsd} />
              </Link>,
            ],
          ]}
        />
        <Note>
          Tiers and their limits are set by whoever runs the service. A query beyond the limit is answered with 429 and
          the time after which to try again.
        </Note>
      </div>
    </Card>
  );
}

function Retention({ organisation: { retentionDays, auditDays, usageDays } }: { organisation: Organisation }) {
  return (
    <Card title="Retention">
      <div className="grid gap-4">
        <Facts
          items={[
            ["Ended runs", countOf(retentionDays, "day")],
            ["Audit entries", countOf(auditDays, "day")],
            ["Usage by turn", countOf(usageDays, "day")],
          ]}
        />
        <Note>
          A run is deleted with its messages, events and calls. You can erase a thread earlier on its page. Older usage
          and credits are kept as sums by day. The operator sets these times.
        </Note>
      </div>
    </Card>
  );
}

function Interface() {
  const { baseUrl, version } = useSession();
  return (
    <Card title="Interface">
      <div className="grid gap-4">
        <Facts
          items={[
            [
              "Address",
              <span key="address" className="flex items-center gap-1">
                <code className="min-w-0 font-mono text-xs break-all">{baseUrl}</code>
                <span className="-my-1">
                  <CopyButton text={baseUrl} label="Copy address" />
                </span>
              </span>,
            ],
            ["Version", version],
          ]}
        />
        <Note>
          This console uses nothing but the interface under <code className="font-mono text-xs">/api</code>, which is
          described in OpenAPI.
        </Note>
        <a href="/api/openapi.json" target="_blank" rel="noreferrer" className={`${buttonClass()} justify-self-start`}>
          <Icon name="external" className="size-3.5" />
          OpenAPI document
        </a>
      </div>
    </Card>
  );
}

const Note = ({ children }: { children: ReactNode }) => <p className="text-muted text-sm text-pretty">{children}</p>;

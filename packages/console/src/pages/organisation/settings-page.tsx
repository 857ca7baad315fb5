import type { Organisation } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useAction } from "../../api/action.ts";
import { api, queryClient, refetch, resource, useHasRole, useSession } from "../../api/api.ts";
import { countOf, formatCount } from "../../format/numbers.ts";
import { buttonClass, TextLink } from "../../ui/button.tsx";
import { CopyableText } from "../../ui/copy.tsx";
import { NameForm } from "../../ui/form/form.tsx";
import { PREFIX } from "../../state/prefix.ts";
import { Icon } from "../../ui/icon.tsx";
import { Card, Facts, Loaded, Loading, PageHeader } from "../../ui/page.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Badge, Money, Time } from "../../ui/values.tsx";
import { ServiceTokens } from "./service-tokens.tsx";

const organisationQuery = () => resource("/organisation");

/** The organisation: its name, tier limits, retention times and the API's address. */
export function SettingsPage() {
  const query = useQuery(organisationQuery());
  const isOwner = useHasRole("owner");
  return (
    <>
      <PageHeader title="Organisation" />
      <Loaded query={query} loading={<Loading block="h-56 max-w-5xl rounded-lg" blocks={2} />}>
        {(organisation) => (
          <div className="grid max-w-5xl gap-5 lg:grid-cols-2">
            <General {...organisation} />
            <TierCard {...organisation} />
            <Retention {...organisation} />
            <Api />
            {isOwner && (
              <div className="min-w-0 lg:col-span-2">
                <ServiceTokens />
              </div>
            )}
          </div>
        )}
      </Loaded>
    </>
  );
}

const General = ({ name, orgId, agents, members, createdAt }: Organisation) => (
  <Card title="General" stacked>
    <Name key={name} name={name} />
    <Facts
      items={[
        ["ID", <CopyableText text={orgId} label="Copy organisation ID" />],
        ["Agents", <TextLink to="/agents">{countOf(agents, "agent")}</TextLink>],
        ["Members", <TextLink to="/members">{countOf(members, "member")}</TextLink>],
        ["Created", <Time at={createdAt} />],
      ]}
    />
  </Card>
);

function Name({ name }: { name: string }) {
  const rename = useAction({
    mutationFn: (next: string) => api.patch("/organisation", { body: { name: next } }),
    onSuccess: (organisation) => {
      queryClient.setQueryData(organisationQuery().queryKey, organisation);
      void refetch("/session");
      showSuccess("Organisation renamed");
    },
  });
  return <NameForm name={name} hint="Shown to members and in invitations" needs="owner" rename={rename} />;
}

const TierCard = ({ tier, queriesPerMinute, charged, balanceUsd }: Organisation) => (
  <Card title="Tier" actions={<Badge tone="accent">{tier}</Badge>} stacked>
    <Facts
      items={[
        ["Queries", queriesPerMinute === null ? "no limit" : `up to ${formatCount(queriesPerMinute)} per minute`],
        ["Model turns", charged ? "paid from credits" : "free of charge"],
        [
          "Balance",
          <TextLink to="/credits">
            <Money usd={balanceUsd} />
          </TextLink>,
        ],
      ]}
    />
    <Note>The operator sets tiers and limits. Queries above the limit fail with 429 and a Retry-After header.</Note>
  </Card>
);

const Retention = ({ retentionDays, auditDays, usageDays }: Organisation) => (
  <Card title="Retention" stacked>
    <Facts
      items={[
        ["Ended runs", countOf(retentionDays, "day")],
        ["Audit entries", countOf(auditDays, "day")],
        ["Usage by turn", countOf(usageDays, "day")],
      ]}
    />
    <Note>
      The operator sets these times. Expired runs are deleted with their messages, events and calls; older usage and
      credits are kept as daily sums.
    </Note>
  </Card>
);

function Api() {
  const { baseUrl, version } = useSession();
  return (
    <Card title="API" stacked>
      <Facts
        items={[
          ["Address", <CopyableText text={baseUrl} label="Copy address" />],
          ["Version", version],
        ]}
      />
      <Note>
        This console uses only the API under <code className="font-mono text-xs">/api</code>. Programs use it with a
        service token.
      </Note>
      <a
        href={`${PREFIX}/api/openapi.json`}
        target="_blank"
        rel="noreferrer"
        className={`${buttonClass()} justify-self-start`}
      >
        <Icon name="external" className="size-3.5" />
        Open OpenAPI document
      </a>
    </Card>
  );
}

const Note = ({ children }: { children: ReactNode }) => <p className="text-muted text-sm text-pretty">{children}</p>;

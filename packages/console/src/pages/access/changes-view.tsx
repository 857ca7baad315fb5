import type { AccessComparison, AccessLocks } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useRef } from "react";
import { useAction } from "../../api/action.ts";
import { api, useFiltered, useList } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { CLI } from "../../format/snippets.ts";
import { toPage } from "../../state/addresses.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { GuardedButton, TextLink } from "../../ui/button.tsx";
import { Card, Fault, Loaded, Loading } from "../../ui/page.tsx";
import { Select } from "../../ui/form/select.tsx";
import { Badge, Time, type Tone } from "../../ui/values.tsx";

const route = getRouteApi("/shell/agents/$agentId/access");

const shortHash = (hash: string): string => hash.slice(0, 8);

const BEFORE = "";

/** What the function set allows more or less than an earlier one. */
export function SinceSet() {
  const { agentId } = route.useParams();
  const { manifestHash, base } = route.useSearch();
  const change = useSearchChange(route);
  const query = { manifestHash, base };
  const changes = useFiltered("/agents/:agent_id/access/changes", { params: { agentId }, query });
  const { data: sets = [] } = useList("/agents/:agent_id/function-sets", { params: { agentId }, query: { limit: 20 } });
  const others = sets.filter((set) => set.manifestHash !== changes.data?.manifestHash);
  const known = base === undefined || others.some((set) => set.manifestHash === base);
  return (
    <Card
      title="Since an earlier function set"
      description="Role lists, cases, schemas and restricted fields, compared by what they allow"
      actions={
        others.length > 0 && (
          <Select
            label="Since"
            named
            className="w-48"
            options={[
              { value: BEFORE, label: "the set before" },
              ...(known ? others : [...others, { manifestHash: base }]).map((set) => ({
                value: set.manifestHash,
                label: shortHash(set.manifestHash),
              })),
            ]}
            value={base ?? BEFORE}
            onChange={(next) => change({ base: next === BEFORE ? undefined : next })}
          />
        )
      }
    >
      <Loaded query={changes} loading={<Loading block="h-24" />}>
        {(loaded) =>
          loaded.base === null ? (
            <p className="text-muted text-sm">
              No earlier function set of the same services is stored.
              {others.length > 0 && " Choose another set to compare with."}
            </p>
          ) : (
            <Changes comparison={loaded}>
              Function set {shortHash(loaded.manifestHash)} allows the same as {shortHash(loaded.base)}.
            </Changes>
          )
        }
      </Loaded>
    </Card>
  );
}

/** Compares with the locks that runtimes report, or with a file that the browser reads and the control plane does not store. */
export function SinceLock() {
  const { agentId } = route.useParams();
  const { manifestHash } = route.useSearch();
  const { data: { locks } = { locks: [] } } = useLocks(agentId, manifestHash);
  const input = useRef<HTMLInputElement>(null);
  const compare = useAction({
    mutationFn: async (file: File) => ({
      name: file.name,
      comparison: await api.post("/agents/:agent_id/access/lock-changes", {
        params: { agentId },
        body: { manifestHash, lock: await jsonOf(file) },
      }),
    }),
  });
  return (
    <Card
      title="Since the lock"
      description="What these functions allow more or less than access.lock.json, which patchbay access --write saves"
      actions={
        <>
          <input
            ref={input}
            type="file"
            accept=".json,application/json"
            aria-label="Lock file"
            hidden
            onChange={({ target }) => {
              const file = target.files?.[0];
              if (file) compare.mutate(file);
              target.value = "";
            }}
          />
          <GuardedButton
            needs="developer"
            icon="access"
            busy={compare.isPending}
            onClick={() => input.current?.click()}
          >
            {locks.length === 0 ? "Choose lock file" : "Choose another file"}
          </GuardedButton>
        </>
      }
    >
      <div role="status" className="grid gap-3">
        <Fault error={compare.error} />
        {compare.data ? (
          <Changes comparison={compare.data.comparison}>Access matches {compare.data.name}.</Changes>
        ) : (
          locks.map((lock) => <SinceReported key={lock.service} {...lock} />)
        )}
        {!compare.data && locks.length === 0 && (
          <p className="text-muted text-sm text-pretty">
            No runtime with this function set reported a lock.{" "}
            <code className="font-mono text-xs">patchbay connect</code> sends the lock next to the service; in code, it
            is the option <code className="font-mono text-xs">accessLock</code> of{" "}
            <code className="font-mono text-xs">connect</code>.
          </p>
        )}
        <p className="text-muted text-sm text-pretty">
          Fingerprints of code are not compared, because the console has no access to your files:{" "}
          <code className="font-mono text-xs">patchbay access FILE --check</code> compares them.
        </p>
      </div>
    </Card>
  );
}

const SinceReported = ({ service, since, comparison, fault }: AccessLocks["locks"][number]) => (
  <section aria-label={`Lock of ${service}`} className="grid gap-2">
    <p className="text-muted text-sm">
      The lock of <span className="text-text font-medium">{service}</span>, first reported with this function set{" "}
      <Time at={since} />
    </p>
    {comparison ? (
      <Changes comparison={comparison}>Access matches the lock.</Changes>
    ) : (
      <p className="text-warn text-sm">
        The lock cannot be read: {fault}. Save it again with {CLI} access FILE --write in your service folder, or update
        Patchbay.
      </p>
    )}
  </section>
);

const useLocks = (agentId: string, manifestHash: string | undefined) =>
  useFiltered("/agents/:agent_id/access/locks", { params: { agentId }, query: { manifestHash } });

/** Whether the functions match the locks that their runtimes report. Renders nothing without one. */
export function LockState({ agentId, manifestHash }: { agentId: string; manifestHash: string | undefined }) {
  const locks = useLocks(agentId, manifestHash).data?.locks ?? [];
  if (locks.length === 0) return null;
  const changes = locks.flatMap(({ comparison }) => comparison?.changes ?? []);
  const omitted = locks.reduce((sum, { comparison }) => sum + (comparison?.omitted ?? 0), 0);
  const unread = locks.filter(({ fault }) => fault !== null);
  const [first] = sorted(changes);
  return (
    <p className="flex flex-wrap items-baseline gap-x-3 gap-y-1 text-sm">
      {unread.length > 0 ? (
        <Badge tone="warn" icon="alert">
          lock of {unread[0]?.service} cannot be read
        </Badge>
      ) : (
        <Badge tone={first ? KINDS[first.kind] : "ok"} icon={first ? "alert" : "succeeded"}>
          {first ? `${countOf(changes.length + omitted, "change")} since the lock` : "matches the lock"}
        </Badge>
      )}
      {first && <span className="text-muted min-w-0 break-words">{first.sentence}</span>}
      {(first || unread.length > 0) && (
        <TextLink {...toPage(agentId, "access")} search={{ manifestHash, view: "changes" }}>
          Show changes
        </TextLink>
      )}
    </p>
  );
}

async function jsonOf(file: File): Promise<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(await file.text());
  } catch (cause) {
    throw new Error(`${file.name} is not JSON. Choose the access.lock.json of the service.`, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Error(`${file.name} is not a lock file. Choose the access.lock.json of the service.`);
}

type Change = AccessComparison["changes"][number];

const KINDS: Record<Change["kind"], Tone> = { widening: "bad", unproven: "warn", changed: "idle", narrowing: "idle" };

/** The changes, widenings first. */
const sorted = (changes: readonly Change[]): Change[] =>
  Object.keys(KINDS).flatMap((kind) => changes.filter((change) => change.kind === kind));

/** The changes, widenings first; `children` without any. */
function Changes({ comparison, children }: { comparison: AccessComparison; children: ReactNode }) {
  const { changes, omitted } = comparison;
  if (changes.length === 0)
    return (
      <p className="flex items-center gap-2 text-sm">
        <Badge tone="ok" icon="succeeded">
          no differences
        </Badge>
        <span className="text-muted">{children}</span>
      </p>
    );
  return (
    <ul aria-label="Access changes" className="grid gap-2 text-sm">
      {sorted(changes).map(({ kind, sentence }, at) => (
        // Sentences may repeat; the list changes as a whole.
        <li key={at} className="flex items-baseline gap-3">
          <span className="w-24 shrink-0">
            <Badge tone={KINDS[kind]}>{kind}</Badge>
          </span>
          <span className="min-w-0 break-words">{sentence}</span>
        </li>
      ))}
      {omitted > 0 && <li className="text-muted">{countOf(omitted, "more change")} not listed</li>}
    </ul>
  );
}

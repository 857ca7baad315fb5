import type { AccessComparison } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useRef } from "react";
import { api, useFiltered, useList } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { Button } from "../../ui/button.tsx";
import { Card, Fault, Loaded, Loading } from "../../ui/page.tsx";
import { Select } from "../../ui/select.tsx";
import { Badge, type Tone } from "../../ui/values.tsx";

const route = getRouteApi("/shell/agents/$agentId/access");

const shortHash = (hash: string): string => hash.slice(0, 8);

/** What the function set allows more or less than an earlier one, and than a lock file of the member. */
export function AccessChanges() {
  return (
    <>
      <SinceSet />
      <SinceLock />
    </>
  );
}

const BEFORE = "";

function SinceSet() {
  const { agentId } = route.useParams();
  const { manifestHash, base } = route.useSearch();
  const change = useSearchChange(route);
  const changes = useFiltered("/agents/:agent_id/access/changes", {
    params: { agentId },
    query: { manifestHash, base },
  });
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
            <p className="text-muted text-sm">This is the first function set of the service.</p>
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

/** Reads the lock in the browser; the control plane compares it and does not store it. */
function SinceLock() {
  const { agentId } = route.useParams();
  const { manifestHash } = route.useSearch();
  const input = useRef<HTMLInputElement>(null);
  const compare = useMutation({
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
      title="Since a lock file"
      description="Compares access.lock.json, as patchbay access --write saved it, with these functions"
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
          <Button icon="access" busy={compare.isPending} onClick={() => input.current?.click()}>
            Choose lock file
          </Button>
        </>
      }
    >
      <div role="status" className="grid gap-3">
        <Fault error={compare.error} />
        {compare.data ? (
          <Changes comparison={compare.data.comparison}>Access matches {compare.data.name}.</Changes>
        ) : (
          <p className="text-muted text-sm">
            Fingerprints of code are not compared, because the console has no access to your files:{" "}
            <code className="font-mono text-xs">patchbay access FILE --check</code> compares them.
          </p>
        )}
      </div>
    </Card>
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

const KINDS = { widening: "bad", unproven: "warn", narrowing: "idle" } as const satisfies Record<string, Tone>;

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
  const sorted = Object.keys(KINDS).flatMap((kind) => changes.filter((one) => one.kind === kind));
  return (
    <ul aria-label="Changes of access" className="grid gap-2 text-sm">
      {sorted.map(({ kind, sentence }, at) => (
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

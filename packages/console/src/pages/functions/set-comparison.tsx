import type { ConsoleFunction, FunctionSet } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { resource } from "../../api/api.ts";
import { toFunction } from "../../state/addresses.ts";
import { ErrorState, Loading } from "../../ui/page.tsx";
import { Badge, type Tone } from "../../ui/values.tsx";

/** Shows the differences between two function sets, down to schema properties. */
export function SetComparison({ agentId, before, after }: { agentId: string; before: string; after: string }) {
  const setOf = (manifestHash: string) =>
    resource("/agents/:agent_id/functions", { params: { agentId }, query: { manifestHash } });
  const old = useQuery(setOf(before));
  const now = useQuery(setOf(after));
  const failed = [old, now].find(({ error }) => error);
  if (failed) return <ErrorState error={failed.error} onRetry={() => void failed.refetch()} />;
  if (!old.data || !now.data) return <Loading block="h-24" />;
  const { service, functions } = changesOf(old.data, now.data);
  if (service.length + functions.length === 0) return <p className="text-muted text-sm">No differences</p>;
  return (
    <div className="grid gap-5">
      {service.length > 0 && (
        <section className="grid gap-2">
          <h3 className="font-semibold">Service</h3>
          <Differences differences={service} />
        </section>
      )}
      {functions.map((change) => (
        <ChangedFunction key={change.name} agentId={agentId} change={change} now={after} />
      ))}
    </div>
  );
}

const KINDS: Record<FunctionChange["kind"], Tone> = { added: "ok", removed: "bad", changed: "info" };

function ChangedFunction({ agentId, change, now }: { agentId: string; change: FunctionChange; now: string }) {
  const { name, kind, differences } = change;
  return (
    <section className="grid gap-2">
      <h3 className="flex flex-wrap items-center gap-2">
        {kind === "removed" ? (
          <span className="font-mono text-sm font-medium">{name}</span>
        ) : (
          <Link
            {...toFunction(agentId, name)}
            search={{ manifestHash: now }}
            className="text-accent font-mono text-sm font-medium underline-offset-2 hover:underline"
          >
            {name}
          </Link>
        )}
        <Badge tone={KINDS[kind]} icon={kind === "added" ? "plus" : kind === "removed" ? "close" : "edit"}>
          {kind}
        </Badge>
      </h3>
      {differences.length > 0 && <Differences differences={differences} />}
    </section>
  );
}

const Differences = ({ differences }: { differences: readonly Difference[] }) => (
  <ul className="border-line divide-line divide-y rounded-lg border text-sm">
    {differences.map(({ path, before, after }) => (
      <li key={path} className="grid gap-1 px-3 py-2 md:grid-cols-[minmax(10rem,1fr)_3fr] md:gap-4">
        <code className="text-muted font-mono text-xs leading-5 break-words">{path}</code>
        <div className="grid min-w-0 gap-1">
          {before !== undefined && <Side sign="−" word="before" value={before} tone="bg-bad-soft text-bad" />}
          {after !== undefined && <Side sign="+" word="after" value={after} tone="bg-ok-soft text-ok" />}
        </div>
      </li>
    ))}
  </ul>
);

const Side = ({ sign, word, value, tone }: { sign: string; word: string; value: unknown; tone: string }) => (
  <p className={`flex min-w-0 gap-2 rounded px-2 py-0.5 font-mono text-xs leading-5 ${tone}`}>
    <span aria-hidden="true">{sign}</span>
    <span className="sr-only">{word}: </span>
    <span className="min-w-0 break-words whitespace-pre-wrap">{shownText(value)}</span>
  </p>
);

/** Strings as they are, scalar lists on one line, anything else as indented JSON. */
function shownText(value: unknown): string {
  if (typeof value === "string") return value;
  const flat = Array.isArray(value) && value.every((item) => typeof item !== "object");
  return flat ? value.join(", ") : JSON.stringify(value, null, 1);
}

/** One property in which two sets differ; undefined on the side that lacks it. */
interface Difference {
  path: string;
  before: unknown;
  after: unknown;
}

interface FunctionChange {
  name: string;
  kind: "added" | "removed" | "changed";
  differences: Difference[];
}

/** A function's compared properties, those that matter most to callers first. */
const FACTS = [
  "roles",
  "effect",
  "conditional",
  "idempotent",
  "timeoutMs",
  "restrictedFields",
  "redactions",
  "description",
  "inputSchema",
  "keepsUnlisted",
  "outputSchema",
] as const satisfies (keyof ConsoleFunction)[];

/** The differences between two function sets: in the service itself, and in its functions by name. */
export function changesOf(before: FunctionSet, after: FunctionSet) {
  const old = new Map(before.functions.map((fn) => [fn.name, fn]));
  const names = new Set([...old.keys(), ...after.functions.map(({ name }) => name)]);
  const now = new Map(after.functions.map((fn) => [fn.name, fn]));
  const functions = [...names]
    .toSorted()
    .map((name) => changeOf(name, old.get(name), now.get(name)))
    .filter((change) => change !== undefined);
  const service = (["service", "instructions", "defaultRole", "roles"] as const).flatMap((fact) =>
    differencesOf(before[fact], after[fact], fact),
  );
  return { service, functions };
}

function changeOf(
  name: string,
  before: ConsoleFunction | undefined,
  after: ConsoleFunction | undefined,
): FunctionChange | undefined {
  const differences = FACTS.flatMap((fact) => differencesOf(before?.[fact], after?.[fact], fact));
  if (!before || !after) return { name, kind: before ? "removed" : "added", differences: [] };
  return differences.length === 0 ? undefined : { name, kind: "changed", differences };
}

/**
 * Every place in which two JSON values differ. Scalar lists are compared as sets, because their order rarely matters.
 */
function differencesOf(before: unknown, after: unknown, path: string): Difference[] {
  if (Object.is(before, after)) return [];
  if (isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after)) {
    if (Array.isArray(before) && ![...before, ...(after as unknown[])].some(isBranch))
      return sameItems(before, after as unknown[]) ? [] : [{ path, before, after }];
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      differencesOf(propertyOf(before, name), propertyOf(after, name), `${path}.${name}`),
    );
  }
  return [{ path, before, after }];
}

const isBranch = (value: unknown): value is object => typeof value === "object" && value !== null;

const propertyOf = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  const sorted = (list: readonly unknown[]) => list.map((item) => JSON.stringify(item)).toSorted();
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

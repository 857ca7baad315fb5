import type { runs as searchOfRuns } from "../../state/page-search.ts";
import { useQuery } from "@tanstack/react-query";
import { resource, useFiltered } from "../../api/api.ts";
import { formatUsd } from "../../format/numbers.ts";
import { formatDuration } from "../../format/times.ts";
import { lastOf, rangeOf } from "../../format/time-range.ts";
import { type Filter, FilterBar } from "../../ui/table/filter-bar.tsx";
import { TimeRange } from "../../ui/form/time-range.tsx";
import { SOURCE_LABELS } from "../../parts/run/run-facts.ts";

/** The run page's search parameters. */
export type RunsSearch = ReturnType<typeof searchOfRuns>;

/** Longer than the default for figures, because many agents are not queried every day. */
const PRESET = "30d";

/** The API parameters for the page's search. */
export const filterOf = ({ range, from, to, sort: _sort, minDurationMs, minCostUsd, ...filters }: RunsSearch) => ({
  ...filters,
  ...(minDurationMs !== undefined && { minDurationMs: Number(minDurationMs) }),
  ...(minCostUsd !== undefined && { minCostUsd: Number(minCostUsd) }),
  ...rangeOf({ range, from, to }, { preset: PRESET }),
});

/** The role filter's suggestion that finds runs without a role. */
const NO_ROLE = "No role";

/** The length of the search's range, if it ends now. */
export const lastOfRuns = (search: RunsSearch) => lastOf(search, PRESET);

interface RunFiltersProps {
  agentId: string;
  search: RunsSearch;
  /** Key labels by id. */
  keys: ReadonlyMap<string, string>;
  onChange: (changed: RunsSearch) => void;
}

/** The filters for a run list. */
export const RunFilters = ({ agentId, search, keys, onChange }: RunFiltersProps) => (
  <FilterBar
    filters={useFilters({ agentId, search, keys })}
    values={{ ...search, ...(search.noRole && { role: NO_ROLE }) }}
    onChange={(changed) => onChange(withoutRole(changed) as RunsSearch)}
  >
    <TimeRange value={search} preset={PRESET} onChange={onChange} />
  </FilterBar>
);

/** A role can have any name, so "No role" is a separate parameter. */
const withoutRole = (changed: { role?: string | undefined }) =>
  !("role" in changed)
    ? changed
    : changed.role === NO_ROLE
      ? { ...changed, role: undefined, noRole: "1" }
      : { ...changed, noRole: undefined };

const DURATIONS_MS = [1_000, 5_000, 10_000, 30_000, 60_000];
const COSTS_USD = [0.001, 0.01, 0.1, 1];

/** Lower bounds, with the one in the URL. */
const bounds = (values: readonly number[], chosen: string | undefined, format: (value: number) => string) =>
  [...new Set([...values, ...(chosen === undefined ? [] : [Number(chosen)])])]
    .toSorted((a, b) => a - b)
    .map((value) => ({ value: String(value), label: `at least ${format(value)}` }));

const STATUSES = ["queued", "running", "waiting", "succeeded", "failed", "cancelled"];
const TROUBLES = [
  { value: "denied", label: "Has a denied call" },
  { value: "failed", label: "Has a failed call" },
  { value: "writes", label: "Ended after writes" },
];
const SCORES = ["good", "neutral", "bad", { value: "any", label: "any feedback" }];
const SOURCES = Object.entries({ production: "Production", ...SOURCE_LABELS }).map(([value, label]) => ({
  value,
  label,
}));

type FilterName = Exclude<keyof RunsSearch, "range" | "from" | "to" | "sort" | "noRole">;

function useFilters({ agentId, search, keys }: Omit<RunFiltersProps, "onChange">): Filter<FilterName>[] {
  // Fails for an agent that never had a runtime: then nothing is suggested.
  const { data: set } = useQuery(resource("/agents/:agent_id/functions", { params: { agentId } }));
  const query = rangeOf(search, { preset: PRESET });
  const { data: seen } = useFiltered("/agents/:agent_id/run-values", { params: { agentId }, query });
  const values = (all: readonly { value: string }[] = []) => all.map(({ value }) => value);
  const roles = new Set([...(set?.roles ?? []), ...values(seen?.roles)]);
  const functions = set?.functions.map(({ name }) => name) ?? [];
  const keyIds = new Set([...values(seen?.keyIds), ...(search.keyId === undefined ? [] : [search.keyId])]);
  const ofKeys = [...keyIds].map((value) => ({ value, label: keys.get(value) ?? value }));
  const durations = bounds(DURATIONS_MS, search.minDurationMs, formatDuration);
  const costs = bounds(COSTS_USD, search.minCostUsd, formatUsd);
  return [
    { kind: "search", name: "q", label: "Search text or ID" },
    { kind: "choice", name: "status", label: "Status", options: STATUSES },
    { kind: "choice", name: "trouble", label: "Calls", options: TROUBLES },
    { kind: "choice", name: "source", label: "Source", options: SOURCES },
    { kind: "text", name: "role", label: "Role", suggestions: [NO_ROLE, ...roles] },
    { kind: "text", name: "functionName", label: "Function", suggestions: functions },
    { kind: "choice", name: "feedback", label: "Feedback", options: SCORES, any: "with or without", further: true },
    { kind: "text", name: "tag", label: "Tag", suggestions: values(seen?.tags), further: true },
    { kind: "text", name: "model", label: "Model", suggestions: values(seen?.models), further: true },
    { kind: "text", name: "code", label: "Error code", suggestions: values(seen?.codes), further: true },
    { kind: "choice", name: "minDurationMs", label: "Duration", options: durations, further: true },
    { kind: "choice", name: "minCostUsd", label: "Cost", options: costs, further: true },
    { kind: "choice", name: "keyId", label: "Key", options: ofKeys, further: true },
    { kind: "text", name: "sessionId", label: "Session", suggestions: [], further: true },
    { kind: "text", name: "threadId", label: "Thread", suggestions: [], further: true },
    { kind: "text", name: "requestId", label: "Request ID", suggestions: [], further: true },
  ];
}

import { PROVIDER_NAMES, REASONING } from "@patchbay/protocol/providers";
import type { RegisteredRouter, RouteApi, RouteById } from "@tanstack/react-router";

/** Reads one search parameter. Returns undefined if it is absent or invalid: a URL is untrusted input. */
type Read<T> = (value: unknown) => T | undefined;

export const text: Read<string> = (value) => (typeof value === "string" && value !== "" ? value : undefined);

const flag: Read<"1"> = (value) => (value === "1" ? "1" : undefined);

export const oneOf =
  <T extends string>(...values: T[]): Read<T> =>
  (value) =>
    values.find((known) => known === value);

const number: Read<string> = (value) =>
  typeof value === "string" && value !== "" && Number(value) >= 0 ? value : undefined;

const instant: Read<string> = (value) =>
  typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined;

/** Validates a route's search parameters and drops unknown and invalid ones. Values are strings, as in the URL. */
export function searchOf<Shape extends Record<string, Read<string>>>(shape: Shape) {
  return (raw: Record<string, unknown>) => {
    const known = Object.entries(shape).map(([name, read]) => [name, read(raw[name])] as const);
    return Object.fromEntries(known.filter(([, value]) => value !== undefined)) as {
      [Name in keyof Shape]?: Exclude<ReturnType<Shape[Name]>, undefined> | undefined;
    };
  };
}

/** Parses `?status=failed&q=late`; values are plain strings, not JSON. */
export const parseSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  const params = new URLSearchParams(entries.map(([name, value]) => [name, String(value)]));
  return entries.length === 0 ? "" : `?${params}`;
}

/** The names of a route's search parameters. */
type SearchName<Id> = keyof RouteById<RegisteredRouter["routeTree"], Id>["types"]["fullSearchSchema"];

type Navigate = (to: { search: (before: object) => object; replace: true; resetScroll: boolean }) => Promise<void>;

/**
 * Returns a function that changes the page's search parameters and keeps the others, without an entry in the history.
 * With `toTop`, for changes that replace the content, it scrolls to the top.
 */
export function useSearchChange<Id extends string>(route: RouteApi<Id>, { toTop = false } = {}) {
  const navigate = route.useNavigate() as unknown as Navigate;
  return (changed: { [Name in SearchName<Id>]?: string | undefined }): void =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: toTop });
}

/** Search parameters for a page with a time range: a preset, or `from` and `to`. */
const rangeSearch = {
  range: oneOf("1h", "24h", "7d", "30d", "90d"),
  from: instant,
  to: instant,
};

// Each page's search parameters: everything that a shared link must restore.
export const agents = searchOf({ q: text, create: flag });
export const analytics = searchOf({
  ...rangeSearch,
  role: text,
  /** Default: production. */
  source: oneOf("all", "api", "local", "direct_call", "playground", "test_call"),
});
export const playground = searchOf({
  role: text,
  /** The role to compare with. With `compare` but no `role2`, the second query has no role. */
  role2: text,
  compare: flag,
  thread: text,
  thread2: text,
  session: text,
  mode: oneOf("analysis"),
  provider: oneOf(...PROVIDER_NAMES),
  model: text,
  reasoning: oneOf(...REASONING),
  maxTokens: text,
  temperature: text,
  context: text,
  instructions: text,
  schema: text,
  /** For a comparison's second lane; absent: as in the first one. */
  provider2: oneOf("agent", ...PROVIDER_NAMES),
  model2: text,
  context2: text,
  instructions2: text,
  agentInstructions2: flag,
  /** Text for the query field; it is not sent. */
  query: text,
  /** Id of a run whose request fills the form. */
  again: text,
  tab: oneOf("settings", "events", "code"),
  /** Id of the run whose events are shown. */
  run: text,
});
export const runs = searchOf({
  q: text,
  status: oneOf("queued", "running", "waiting", "succeeded", "failed", "cancelled"),
  role: text,
  noRole: flag,
  functionName: text,
  trouble: oneOf("denied", "failed", "writes"),
  feedback: oneOf("good", "neutral", "bad", "any"),
  tag: text,
  model: text,
  code: text,
  source: oneOf("production", "api", "local", "direct_call", "playground", "test_call"),
  keyId: text,
  requestId: text,
  sessionId: text,
  threadId: text,
  minDurationMs: number,
  minCostUsd: number,
  ...rangeSearch,
  sort: oneOf("createdAt", "-createdAt", "durationMs", "-durationMs", "tokens", "-tokens", "costUsd", "-costUsd"),
});
export const run = searchOf({
  span: text,
  tab: text,
  /** What the model was sent. Default: the messages. */
  part: oneOf("messages", "system", "functions", "parameters"),
  view: text,
});
export const compare = searchOf({ a: text, b: text });
export const threads = searchOf({ q: text, sessionId: text });
export const sessions = searchOf({ q: text, ...rangeSearch });
export const functions = searchOf({
  q: text,
  sort: text,
  view: oneOf("list", "sets"),
  manifestHash: text,
  base: text,
  ...rangeSearch,
});
export const oneFunction = searchOf({
  role: text,
  tab: oneOf("try", "calls", "roles", "schema", "cases"),
  /** Ids of a run and one call in it, whose arguments and context fill the form. Default: the function's first call. */
  again: text,
  call: text,
  manifestHash: text,
  ...rangeSearch,
});
export const access = searchOf({
  /** Default: the matrix. */
  view: oneOf("model", "use", "changes", "shadow"),
  manifestHash: text,
  /** The changes are since the function set with this hash. Default: the one before. */
  base: text,
  q: text,
  as: text,
  verdict: oneOf("allowed", "approval", "conditional", "denied"),
  cell: text,
});
export const keys = searchOf({
  kind: oneOf("api", "runtime", "access"),
  create: oneOf("api", "runtime", "access"),
  key: text,
});
export const webhook = searchOf({ status: oneOf("pending", "delivered", "failed"), delivery: text });
export const audit = searchOf({
  agentId: text,
  runId: text,
  role: text,
  functionName: text,
  action: text,
  entry: text,
  ...rangeSearch,
});
export const approvals = searchOf({
  status: oneOf("approved", "rejected", "expired", "cancelled", "all"),
  agentId: text,
  runId: text,
  approval: text,
});
export const members = searchOf({ create: flag });
export const credits = searchOf({ ...rangeSearch, kind: oneOf("grant", "reserve", "settle", "release") });

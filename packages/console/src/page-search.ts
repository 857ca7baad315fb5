import { rangeSearch } from "./format/time-range.ts";
import { flag, oneOf, searchOf, text } from "./search.ts";

/** Search parameters of each page: everything that a link to it should show again. */
export const agents = searchOf({ q: text, create: flag });
export const analytics = searchOf({ ...rangeSearch, role: text });
export const playground = searchOf({
  role: text,
  /** The role to compare with; `compare` alone compares with a query without a role. */
  role2: text,
  compare: flag,
  thread: text,
  thread2: text,
  session: text,
  mode: oneOf("analysis"),
  provider: oneOf("anthropic", "openai", "gemini"),
  model: text,
  maxTokens: text,
  temperature: text,
  context: text,
  /** A query to begin with: it is written out, not sent. */
  query: text,
  /** A run to begin with: its query and all that it was asked with, however long. */
  again: text,
  tab: oneOf("settings", "events", "code"),
  /** The run whose events are shown. */
  run: text,
});
export const runs = searchOf({
  q: text,
  status: oneOf("queued", "running", "succeeded", "failed", "cancelled"),
  role: text,
  functionName: text,
  trouble: oneOf("denied", "failed"),
  source: oneOf("api", "local", "playground", "trial"),
  keyId: text,
  sessionId: text,
  threadId: text,
  ...rangeSearch,
});
export const run = searchOf({ span: text, tab: text, view: text });
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
  tab: oneOf("try", "calls", "roles", "schema"),
  manifestHash: text,
  ...rangeSearch,
});
export const access = searchOf({
  manifestHash: text,
  q: text,
  as: text,
  verdict: oneOf("allowed", "conditional", "denied"),
  cell: text,
});
export const keys = searchOf({
  kind: oneOf("api", "runtime", "access"),
  create: oneOf("api", "runtime", "access"),
  key: text,
});
export const audit = searchOf({
  agentId: text,
  runId: text,
  role: text,
  functionName: text,
  action: text,
  entry: text,
  ...rangeSearch,
});
export const members = searchOf({ create: flag });
export const credits = searchOf({ ...rangeSearch, kind: oneOf("grant", "hold", "settle", "release") });

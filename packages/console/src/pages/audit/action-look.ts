import type { IconName } from "../../ui/icon.tsx";
import type { Option } from "../../ui/select.tsx";
import type { Tone } from "../../ui/status.tsx";

/** What the log is narrowed by: a whole action, or the first word of several. */
export const ACTION_GROUPS: readonly Option[] = [
  { value: "run", label: "Queries" },
  { value: "query", label: "Queries refused at the door" },
  { value: "call", label: "Calls" },
  { value: "call.denied", label: "Calls denied" },
  { value: "call.redacted", label: "Members withheld" },
  { value: "access", label: "Disagreements" },
  { value: "key", label: "API keys" },
  { value: "runtime_key", label: "Runtime keys" },
  { value: "token", label: "Access tokens" },
  { value: "agent", label: "Agents" },
  { value: "thread", label: "Threads" },
  { value: "member", label: "Members" },
  { value: "org", label: "Organisation" },
  { value: "credits", label: "Credits" },
];

interface Look {
  tone: Tone;
  icon: IconName;
}

/** By an action's last word, where that says how it went. */
const ENDINGS: Record<string, Look> = {
  denied: { tone: "warn", icon: "denied" },
  refused: { tone: "warn", icon: "denied" },
  redacted: { tone: "warn", icon: "key" },
  late: { tone: "warn", icon: "clock" },
  failed: { tone: "bad", icon: "failed" },
  disagreement: { tone: "bad", icon: "alert" },
  revoked: { tone: "bad", icon: "denied" },
  deleted: { tone: "bad", icon: "trash" },
  erased: { tone: "bad", icon: "trash" },
  removed: { tone: "bad", icon: "trash" },
  succeeded: { tone: "ok", icon: "succeeded" },
};

const SUBJECTS: Record<string, IconName> = {
  run: "run",
  call: "function",
  key: "key",
  runtime_key: "key",
  token: "key",
  agent: "agent",
  thread: "thread",
  member: "members",
  org: "organisation",
  credits: "credit",
};

/** Icon and tone of an action; those of later versions look neutral. */
export function lookOf(action: string): Look {
  const dot = action.indexOf(".");
  const ending = ENDINGS[action.slice(dot + 1)];
  return ending ?? { tone: "idle", icon: SUBJECTS[action.slice(0, Math.max(dot, 0))] ?? "audit" };
}

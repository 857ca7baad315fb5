import { isJsonObject } from "@patchbay/kit";
import type { AuditRow } from "@patchbay/engine/ports/store/audit";
import { SERVICE_TOKEN_ID } from "@patchbay/store/accounts/service-tokens";

/** An entry, with member names, agent names and key labels by id. An id without a name is shown as is. */
export type NamedAuditRow = AuditRow & { names?: ReadonlyMap<string, string> };

/** `detail` members that contain member, key or token ids. */
const IDS = ["credentialId", "memberId", "replacedBy", "tokenId"];

/** The ids whose names the entry's sentence shows. */
export function idsOf({ action, keyId, agentId, detail }: AuditRow): string[] {
  const ids = [keyId, action.startsWith("agent.") ? agentId : undefined, ...IDS.map((member) => detail?.[member])];
  return ids.filter((id) => typeof id === "string");
}

type Sentence = (entry: NamedAuditRow) => string;

/** One sentence without values. Actions from a later version are shown by their name. */
export function sentenceOf(entry: NamedAuditRow): string {
  return AUDIT_SENTENCES[entry.action]?.(entry) ?? `${entry.action} was recorded.`;
}

const RULES: Record<string, string> = {
  roles: "its role list does not name the role",
  unknown: "the service has no such function",
  authorize: "its authorize check denied the call",
  context: "the context of the query does not match its schema",
  input: "the arguments do not match its schema",
  flow: "the data-flow rules do not allow it",
  hook: "the service's beforeCall hook refused it",
  refused: "a hook of the service rejected it",
  role_not_allowed: "the key is pinned to other roles",
  caller: "it contradicts the token of its caller",
  caller_token: "the token of its caller is missing or not valid",
};

const as = ({ role }: NamedAuditRow): string => (role === undefined ? "without a role" : `as ${role}`);
const called = ({ functionName }: NamedAuditRow): string => functionName ?? "a function";
const why = ({ rule }: NamedAuditRow): string =>
  rule === undefined ? "no reason was recorded" : (RULES[rule] ?? rule);
const failed = (entry: NamedAuditRow): string =>
  entry.rule === "cancelled" ? "was cancelled" : `failed: ${why(entry)}`;

const nameOf = ({ names }: NamedAuditRow, id: string): string => names?.get(id) ?? id;

/** The member or service token that acted; undefined for a command. */
function actorOf(entry: NamedAuditRow): string | undefined {
  const { keyId } = entry;
  if (keyId?.startsWith(SERVICE_TOKEN_ID)) return `Service token ${nameOf(entry, keyId)}`;
  return keyId?.startsWith("mem_") ? nameOf(entry, keyId) : undefined;
}

/** Starts with the member or service token that acted, or with "The operator" for a command. */
const done =
  (what: (entry: NamedAuditRow) => string): Sentence =>
  (entry) =>
    `${actorOf(entry) ?? "The operator"} ${what(entry)}.`;

const texts = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((text): text is string => typeof text === "string") : [];

function detail({ detail }: NamedAuditRow, member: string): string | undefined {
  const value = detail?.[member];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** The name for the id in a `detail` member. */
function named(entry: NamedAuditRow, member: string): string | undefined {
  const id = detail(entry, member);
  return id === undefined ? undefined : nameOf(entry, id);
}

/** A rotation's new secret, unless its label equals the old one's. */
function replacementOf(entry: NamedAuditRow, old: string | undefined): string {
  const replacement = named(entry, "replacedBy");
  return replacement === undefined || replacement === old ? "another one" : replacement;
}

/** The `sub` in the token that proved a query's caller. */
function ofCaller(entry: NamedAuditRow): string {
  const caller = detail(entry, "caller");
  return caller === undefined ? "" : ` for the proven caller ${caller}`;
}

const list = (words: string[]): string => words.join(", ");

/** How long a rotation's old secret stayed valid. */
function overlapOf(entry: NamedAuditRow): string {
  const seconds = detail(entry, "overlapSeconds") ?? "0";
  return seconds === "0" ? "which ended immediately" : `which stayed valid for up to ${seconds} s`;
}

function credential(word: string, what: string, idMember = "credentialId"): Record<string, Sentence> {
  const nameIn = (entry: NamedAuditRow) => {
    const own = actorOf(entry) === undefined && entry.keyId !== undefined ? nameOf(entry, entry.keyId) : undefined;
    return named(entry, idMember) ?? own;
  };
  const which = (entry: NamedAuditRow) => [what, nameIn(entry)].filter(Boolean).join(" ");
  const limits = ({ detail }: NamedAuditRow) => {
    const [roles, scopes] = [texts(detail?.["roles"]), texts(detail?.["scopes"])];
    if (scopes.length > 0) return ` with the scopes ${list(scopes)}`;
    return roles.length > 0 ? `, pinned to ${list(roles)}` : "";
  };
  return {
    [`${word}.created`]: done((entry) => `created ${which(entry)}${limits(entry)}`),
    [`${word}.rotated`]: done(
      (entry) => `replaced ${which(entry)}, ${overlapOf(entry)}, by ${replacementOf(entry, nameIn(entry))}`,
    ),
    [`${word}.revoked`]: done((entry) => `revoked ${which(entry)}`),
  };
}

const agentIn = (entry: NamedAuditRow) =>
  entry.agentId === undefined ? "an agent" : `agent ${nameOf(entry, entry.agentId)}`;
const aboutMember = (entry: NamedAuditRow) => named(entry, "memberId") ?? "a member";
const aboutRole = (entry: NamedAuditRow) => detail(entry, "role") ?? "member";

/** Names of an agent's changed properties, and of its settings. */
function changedOf({ detail }: NamedAuditRow): string {
  const settings = detail?.["settings"];
  const names = isJsonObject(settings) ? ` (${list(Object.keys(settings))})` : "";
  return list(texts(detail?.["changed"]).map((name) => (name === "settings" ? `settings${names}` : name)));
}

/** The key or member that decided, and its role. */
function decided(entry: NamedAuditRow, how: string): string {
  const role = detail(entry, "as");
  const edited = texts(entry.detail?.["edited"]);
  const changes = edited.length > 0 ? ` with changes of ${list(edited)}` : "";
  const by = actorOf(entry) ?? (entry.keyId === undefined ? "The operator" : `API key ${nameOf(entry, entry.keyId)}`);
  return `${by} ${how} a call of ${called(entry)}${role === undefined ? "" : ` as ${role}`}${changes}.`;
}

/** By action. */
export const AUDIT_SENTENCES: Readonly<Record<string, Sentence>> = {
  "run.started": (entry) =>
    `A run ${as(entry)} was accepted${ofCaller(entry)}${entry.detail?.["ownInstructions"] === true ? " with its own instructions" : ""}.`,
  "run.refused": (entry) => `A run ${as(entry)} ended before its first turn: ${why(entry)}.`,
  "run.retried": (entry) =>
    `A run ${as(entry)} was stored as the retry of ${detail(entry, "retryOf") ?? "a failed run"}.`,
  "run.resumed": (entry) => `A run ${as(entry)} was resumed after the loss of its replica.`,
  "run.succeeded": (entry) => `A run ${as(entry)} succeeded.`,
  "run.failed": (entry) => `A run ${as(entry)} ${failed(entry)}.`,
  "run.cancel_requested": done(() => "requested the cancellation of a run"),
  "approval.requested": (entry) => `A run ${as(entry)} waits for approval of a call of ${called(entry)}.`,
  "approval.approved": (entry) => decided(entry, "approved"),
  "approval.rejected": (entry) => decided(entry, "rejected"),
  "approval.expired": (entry) => `The request for approval of a call of ${called(entry)} expired without a decision.`,
  "approval.cancelled": (entry) => `The request for approval of a call of ${called(entry)} ended with its query.`,
  "caller.refused": (entry) => `A request was rejected: ${why(entry)}.`,
  "query.refused": (entry) => `A query ${as(entry)} was rejected: ${why(entry)}.`,

  "call.succeeded": (entry) => `${called(entry)} was called ${as(entry)}.`,
  "call.failed": (entry) => `${called(entry)}, called ${as(entry)}, ${failed(entry)}.`,
  "call.denied": (entry) => `${called(entry)} was denied ${as(entry)}: ${why(entry)}.`,
  "call.redacted": (entry) => {
    const count = detail(entry, "count") ?? "Some";
    return `${count} restricted fields of the result of ${called(entry)} were removed for a query ${as(entry)}.`;
  },
  "call.deprecated": (entry) => `${called(entry)}, which is deprecated, was called ${as(entry)}.`,
  "call.late": (entry) => `The result of ${called(entry)} arrived after its call had ended.`,
  "access.widened": (entry) =>
    `Deployment ${detail(entry, "deployment") ?? "unknown"} of service ${detail(entry, "service") ?? "unknown"} allows more than the function set before it.`,
  "access.confirmed": done((entry) => `confirmed ${deploymentOf(entry)}, which widens access`),
  "access.signed": done((entry) => {
    const by = entry.keyId === detail(entry, "memberId") ? "" : ` for ${aboutMember(entry)}`;
    return `signed off the access${by}`;
  }),
  "access.locked": () => "A runtime reported another access lock for its function set.",
  "access.disagreement": (entry) =>
    `The runtime denied ${called(entry)} ${as(entry)}, which the control plane had allowed: ${why(entry)}.`,

  "org.created": done((entry) => `created the organisation with tier ${detail(entry, "tier") ?? "unknown"}`),
  "org.renamed": done(() => "renamed the organisation"),
  "credits.granted": done((entry) => `granted ${usd(entry)} of credits`),
  "agent.created": done((entry) => `created ${agentIn(entry)}`),
  "agent.updated": done((entry) => `changed ${changedOf(entry) || "something"} of the agent`),
  "agent.deleted": done((entry) => `deleted ${agentIn(entry)}`),
  "thread.erased": done((entry) => `erased ${detail(entry, "threadId") ?? "a thread"}`),
  ...credential("key", "API key"),
  ...credential("runtime_key", "runtime key"),
  ...credential("token", "access token"),
  ...credential("service_token", "service token", "tokenId"),

  "webhook.added": done((entry) => `added a webhook to ${detail(entry, "host") ?? "an address"}`),
  "webhook.changed": done((entry) => `changed the address of the webhook to ${detail(entry, "host") ?? "another one"}`),
  "webhook.rotated": done((entry) => `replaced the secret of the webhook, ${overlapOf(entry)}`),
  "webhook.removed": done(() => "removed the webhook"),
  "webhook.tested": done(() => "sent a test to the webhook"),
  "webhook.resent": done((entry) => `sent ${detail(entry, "deliveryId") ?? "a delivery"} to the webhook again`),

  "audit.deleted": (entry) =>
    `${detail(entry, "entries") ?? "Some"} entries until ${detail(entry, "until") ?? "a time"} were deleted by their age.`,

  "member.invited": done((entry) => `invited ${aboutMember(entry)} as ${aboutRole(entry)}`),
  "member.linked": done((entry) => `created a new link for ${aboutMember(entry)}`),
  "member.link_withdrawn": done((entry) => `withdrew the link for ${aboutMember(entry)}`),
  "member.signed_in": done(() => "signed in"),
  "member.joined": done(() => "joined the organisation"),
  "member.role_changed": done((entry) => `changed the role of ${aboutMember(entry)} to ${aboutRole(entry)}`),
  "member.removed": done((entry) => `removed ${aboutMember(entry)}`),
  "member.password_changed": done(() => "changed their password"),
};

function deploymentOf(entry: NamedAuditRow): string {
  const [deployment, service] = [detail(entry, "deployment"), detail(entry, "service")];
  return deployment === undefined ? "a deployment" : `deployment ${deployment} of ${service ?? "a service"}`;
}

function usd({ detail }: NamedAuditRow): string {
  const micros = detail?.["micros"];
  return typeof micros === "number" ? `$${(micros / 1_000_000).toFixed(2)}` : "an amount";
}

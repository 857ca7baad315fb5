import { z } from "zod";
import { AgentSettings, AgentSettingsChange } from "../agent-settings.ts";
import { FunctionManifest } from "../manifest.ts";
import { ACCESS_CHANGES } from "../names.ts";
import { label, pageOf, time } from "./paging.ts";

export const Agent = z.object({
  agentId: z.string(),
  name: z.string(),
  instructions: z.string(),
  accessChanges: z.enum(ACCESS_CHANGES),
  createdAt: time,
  /** Runtimes connected now. */
  runtimes: z.number(),
  /** Functions of the newest set that was connected; null before the first. */
  functions: z.number().nullable(),
  /** Of the last 24 hours. */
  queries: z.number(),
  failed: z.number(),
  lastQueryAt: time.nullable(),
});
export type Agent = z.infer<typeof Agent>;
export const AgentPage = pageOf(Agent);

export const AgentDetail = Agent.extend({
  /** How its runs ask their model. What is left out has the service's default. */
  settings: AgentSettings,
});
export type AgentDetail = z.infer<typeof AgentDetail>;

export const NewAgent = z.object({ name: label, instructions: z.string().max(20_000).optional() });
export const AgentChange = z.object({
  name: label.optional(),
  instructions: z.string().max(20_000).optional(),
  /** What happens when a function set widens access: it is used (`follow`), or it waits for a confirmation (`confirm`). */
  accessChanges: z.enum(ACCESS_CHANGES).optional(),
  /** Members that are left out stay; `null` clears one. */
  settings: AgentSettingsChange.optional(),
});

/** `api` asks queries, `runtime` connects functions, `access` opens the local variant. */
export const CredentialKind = z.enum(["api", "runtime", "access"]);
export type CredentialKind = z.infer<typeof CredentialKind>;

export const Credential = z.object({
  credentialId: z.string(),
  kind: CredentialKind,
  agentId: z.string(),
  /** First and last characters of the secret. */
  hint: z.string(),
  label: z.string().nullable(),
  /** Roles that it is pinned to; null means any. */
  roles: z.array(z.string()).nullable(),
  createdAt: time,
  lastUsedAt: time.nullable(),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  state: z.enum(["active", "expired", "revoked"]),
});
export type Credential = z.infer<typeof Credential>;
export const CredentialPage = pageOf(Credential);

export const NewCredential = z.object({
  kind: CredentialKind,
  label: label.optional(),
  /** For API keys alone. */
  roles: z.array(label).min(1).max(50).optional(),
  /** API and runtime keys live until revoked without it; an access token always lives 12 hours. */
  expiresInDays: z.number().int().min(1).max(3_650).optional(),
});

/** A credential just made; the secret is shown this once. */
export const CreatedCredential = z.object({ credential: Credential, secret: z.string() });
export type CreatedCredential = z.infer<typeof CreatedCredential>;

export const CreatedAgent = z.object({ agent: Agent, key: CreatedCredential });
export type CreatedAgent = z.infer<typeof CreatedAgent>;

/** A new secret of the same kind, label and roles; the old one goes on working for `overlapSeconds`. */
export const Rotation = z.object({
  overlapSeconds: z
    .number()
    .int()
    .min(0)
    .max(7 * 86_400),
});

export const Runtime = z.object({
  instanceId: z.string(),
  connected: z.boolean(),
  draining: z.boolean(),
  /** The replica that holds its link; null when it is not connected. */
  replicaId: z.string().nullable(),
  /** Version of the functions package it runs; null where it is not known. */
  sdk: z.string().nullable(),
  manifestHash: z.string(),
  /** Calls that it runs side by side, and those it has now. */
  concurrency: z.number().nullable(),
  inFlight: z.number(),
  connectedAt: time.nullable(),
  lastSeenAt: time,
  /** Since it was last heard of. */
  silentMs: z.number(),
});
export type Runtime = z.infer<typeof Runtime>;
/** Connected runtimes first, then those seen in the last 7 days. */
export const RuntimePage = pageOf(Runtime);

/** How a function was called within the range. Milliseconds are from the intent to the stored result. */
export const FunctionFigures = z.object({
  calls: z.number(),
  failed: z.number(),
  denied: z.number(),
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
  lastCalledAt: time.nullable(),
});

export type FunctionFigures = z.infer<typeof FunctionFigures>;

export const ConsoleFunction = FunctionManifest.extend({ figures: FunctionFigures });
export type ConsoleFunction = z.infer<typeof ConsoleFunction>;

/** The functions of one set: the one connected last, unless another is asked for. */
export const FunctionSet = z.object({
  manifestHash: z.string(),
  service: z.string(),
  instructions: z.string().nullable(),
  defaultRole: z.string().nullable(),
  /** Every role that the service or a function of it names. */
  roles: z.array(z.string()),
  connected: z.boolean(),
  firstSeenAt: time,
  functions: z.array(ConsoleFunction),
});
export type FunctionSet = z.infer<typeof FunctionSet>;

/** How one function was called over a range, of calls that ended; buckets have the same width and none is left out. */
export const FunctionHistory = z.object({
  from: time,
  to: time,
  bucketMs: z.number(),
  buckets: z.array(
    z.object({
      at: time,
      succeeded: z.number(),
      failed: z.number(),
      denied: z.number(),
      p50Ms: z.number().nullable(),
      p95Ms: z.number().nullable(),
    }),
  ),
});
export type FunctionHistory = z.infer<typeof FunctionHistory>;

/** Sets that were connected, newest first, to tell what changed. */
export const FunctionSetVersion = z.object({
  manifestHash: z.string(),
  firstSeenAt: time,
  connected: z.boolean(),
  functions: z.array(z.string()),
});
export type FunctionSetVersion = z.infer<typeof FunctionSetVersion>;
export const FunctionSetPage = pageOf(FunctionSetVersion);

/** One call without a model, through the same gate as any. */
export const Trial = z.object({
  role: z.string().max(200).optional(),
  arguments: z.record(z.string(), z.unknown()),
  context: z.record(z.string(), z.unknown()).optional(),
});

export const TrialResult = z.object({
  runId: z.string(),
  ok: z.boolean(),
  value: z.unknown().optional(),
  /** Members of the result that the role may not see. */
  redacted: z.array(z.string()),
  code: z.string().nullable(),
  errorMessage: z.string().nullable(),
  /** What refused it. */
  rule: z.string().nullable(),
  durationMs: z.number(),
});
export type TrialResult = z.infer<typeof TrialResult>;

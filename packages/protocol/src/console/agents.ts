import { z } from "zod";
import { ReportedCase } from "../frames.ts";
import { ErrorReport } from "../outcome.ts";
import { AgentSettings, AgentSettingsChange, QueryRequest } from "../query.ts";
import { ExampleQuery, FunctionManifest } from "../manifest.ts";
import { ACCESS_CHANGES } from "../limits.ts";
import { PROVIDER_NAMES } from "../providers.ts";
import { label, pageOf, time } from "./route.ts";

/** An agent in a list, with figures for the last 24 hours. */
export const Agent = z.object({
  agentId: z.string(),
  name: z.string(),
  instructions: z.string(),
  accessChanges: z.enum(ACCESS_CHANGES),
  createdAt: time,
  /** Runtimes connected now. */
  runtimes: z.number(),
  /** Number of functions in the newest connected set; null before the first connection. */
  functions: z.number().nullable(),
  /** Queries in the last 24 hours, and the number that failed. */
  queries: z.number(),
  failed: z.number(),
  lastQueryAt: time.nullable(),
});
export type Agent = z.infer<typeof Agent>;
/** One page of agents. */
export const AgentPage = pageOf(Agent);

/** An agent with its settings. */
export const AgentDetail = Agent.extend({
  /** Model settings for its runs. Missing settings have the service's defaults. */
  settings: AgentSettings,
});
export type AgentDetail = z.infer<typeof AgentDetail>;

const instructions = z.string().max(20_000);

/** A member's query. */
export const PlaygroundQuery = QueryRequest.extend({
  instructions: instructions
    .min(1)
    .optional()
    .describe("Replaces the agent's instructions for this run, to try others. API keys cannot send it."),
});

/** An agent to create. */
export const NewAgent = z.object({ name: label, instructions: instructions.optional() });
/** A change to an agent. Missing properties stay as they are. */
export const AgentChange = z.object({
  name: label.optional(),
  instructions: instructions.optional(),
  /** Whether a function set that widens access is used (`follow`) or waits for a confirmation (`confirm`). */
  accessChanges: z.enum(ACCESS_CHANGES).optional(),
  /** Missing settings stay as they are; `null` clears one. */
  settings: AgentSettingsChange.optional(),
});

const usdPerMillion = z.number().describe("USD per million tokens");

/** The models that agents and queries can choose. */
export const Models = z.object({
  /** The model for queries whose agent sets none; null if no provider is configured. */
  default: z.object({ provider: z.string(), model: z.string() }).nullable(),
  /** Providers that have a key, or an address that needs none. */
  providers: z.array(
    z.object({
      /** Of the endpoint, where the service has named endpoints. */
      name: z.string(),
      /** The provider that queries name. */
      family: z.enum(PROVIDER_NAMES),
      /** Members of requests that its server refuses, and that are left out. */
      leftOut: z.array(z.string()).optional(),
      /** The model for queries that name only the provider. */
      model: z.string(),
      /** Its models with a known price. The provider may have others. */
      priced: z.array(
        z.object({
          model: z.string(),
          price: z.object({ input: usdPerMillion, cachedInput: usdPerMillion.optional(), output: usdPerMillion }),
        }),
      ),
    }),
  ),
});
export type Models = z.infer<typeof Models>;

/** `api` keys send queries, `runtime` keys connect functions, `access` tokens open the local variant. */
export const CredentialKind = z.enum(["api", "runtime", "access"]);
export type CredentialKind = z.infer<typeof CredentialKind>;

const right = z.enum(["approve", "check"]);

/** A key or token, without its secret. */
export const Credential = z.object({
  credentialId: z.string(),
  kind: CredentialKind,
  agentId: z.string(),
  /** The secret's first and last characters. */
  hint: z.string(),
  label: z.string().nullable(),
  /** Roles that the key is pinned to; null for any role. */
  roles: z.array(z.string()).nullable(),
  /** An API key's rights besides sending queries; null for none. */
  can: z.array(right).nullable(),
  /** An API key's model name for background tasks of OpenAI clients; null for none. */
  taskModel: z.string().nullable(),
  createdAt: time,
  lastUsedAt: time.nullable(),
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
  state: z.enum(["active", "expired", "revoked"]),
  /** The members and service tokens that created it or a credential that it replaces, oldest first; absent without any. */
  makers: z.array(z.object({ id: z.string(), name: z.string() })).optional(),
});
export type Credential = z.infer<typeof Credential>;
/** One page with keys and tokens. */
export const CredentialPage = pageOf(Credential);

/** A key or token to create. */
export const NewCredential = z.object({
  kind: CredentialKind,
  label: label.optional(),
  /** For API keys only. */
  roles: z.array(label).min(1).max(50).optional(),
  /** For API keys only. `approve`: to read and decide approvals. `check`: to ask what a role may call. Default: none. */
  can: z.array(right).min(1).max(2).optional(),
  /** For API keys only: the model name under which OpenAI clients send background tasks, besides `AGENT:titles`. */
  taskModel: label.optional(),
  /** Default: API and runtime keys do not expire. Access tokens always expire after 12 hours. */
  expiresInDays: z.number().int().min(1).max(3_650).optional(),
});

/** A new credential. Its secret is never shown again. */
export const CreatedCredential = z.object({ credential: Credential, secret: z.string() });
export type CreatedCredential = z.infer<typeof CreatedCredential>;

/** A new agent with its first API key. */
export const CreatedAgent = z.object({ agent: Agent, key: CreatedCredential });
export type CreatedAgent = z.infer<typeof CreatedAgent>;

/** Replaces a credential by one with the same kind, label, roles and rights. The old one stays valid for `overlapSeconds`. */
export const Rotation = z.object({
  overlapSeconds: z
    .number()
    .int()
    .min(0)
    .max(7 * 86_400),
});

/** An agent's runtime. */
export const Runtime = z.object({
  instanceId: z.string(),
  connected: z.boolean(),
  draining: z.boolean(),
  /** The replica that it is connected to; null when it is not connected. */
  replicaId: z.string().nullable(),
  /** Its host name; null when unknown. */
  host: z.string().nullable(),
  service: z.string(),
  /** Its release's name; null without one. */
  deployment: z.string().nullable(),
  /** Its functions package's version; null when unknown. */
  sdk: z.string().nullable(),
  manifestHash: z.string(),
  /** True while its function set waits for a confirmation: queries do not use it. */
  pending: z.boolean(),
  /** Maximum number of concurrent calls; null when unknown. */
  concurrency: z.number().nullable(),
  inFlight: z.number(),
  connectedAt: time.nullable(),
  lastSeenAt: time,
  /** Time since its last heartbeat. */
  silentMs: z.number(),
});
export type Runtime = z.infer<typeof Runtime>;
/** Connected runtimes first, then those seen in the last 7 days. */
export const RuntimePage = pageOf(Runtime);

/** A function's calls in a range. Durations are from the stored call to the stored result. */
export const FunctionFigures = z.object({
  calls: z.number(),
  failed: z.number(),
  denied: z.number(),
  p50Ms: z.number().nullable(),
  p95Ms: z.number().nullable(),
  lastCalledAt: time.nullable(),
});

export type FunctionFigures = z.infer<typeof FunctionFigures>;

/** A function with its call figures. */
export const ConsoleFunction = FunctionManifest.extend({ figures: FunctionFigures });
export type ConsoleFunction = z.infer<typeof ConsoleFunction>;

/** A function's cases with their arguments, if its runtime reports them. */
export const FunctionCases = z.object({ cases: z.array(ReportedCase.omit({ functionName: true })) });
export type FunctionCase = z.infer<typeof FunctionCases>["cases"][number];

/** A function set. Default: the set that new runs get. */
export const FunctionSet = z.object({
  manifestHash: z.string(),
  service: z.string(),
  instructions: z.string().nullable(),
  defaultRole: z.string().nullable(),
  /** Every role that the service or one of its functions names. */
  roles: z.array(z.string()),
  exampleQueries: z.array(ExampleQuery),
  connected: z.boolean(),
  firstSeenAt: time,
  functions: z.array(ConsoleFunction),
});
export type FunctionSet = z.infer<typeof FunctionSet>;

/** One function's ended calls over a range. Buckets have the same width; empty ones are included. */
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

/** A function set that was connected, with its function names. */
export const FunctionSetVersion = z.object({
  manifestHash: z.string(),
  firstSeenAt: time,
  connected: z.boolean(),
  functions: z.array(z.string()),
});
export type FunctionSetVersion = z.infer<typeof FunctionSetVersion>;
/** One page with function sets, newest first. */
export const FunctionSetPage = pageOf(FunctionSetVersion);

/** One function call without a model, with the same access checks as any call. */
export const TestCall = z.object({
  role: z.string().max(200).optional(),
  arguments: z.record(z.string(), z.unknown()),
  context: z.record(z.string(), z.unknown()).optional(),
});

/** A test call's outcome, or the run's error if it ended before its call. */
export const TestCallResult = z.object({
  runId: z.string(),
  ok: z.boolean(),
  value: z.unknown().optional(),
  /** Result fields that were removed for the role. */
  redacted: z.array(z.string()),
  code: z.string().nullable(),
  errorMessage: z.string().nullable(),
  /** The check that denied the call. */
  rule: z.string().nullable(),
  /** The error in the owner's code, if its runtime reports errors. */
  error: ErrorReport.optional(),
  /** The call and its runtime, as the runtime's log names them; null if it ended before. */
  callId: z.string().nullable(),
  runtime: z.string().nullable(),
  durationMs: z.number(),
});
export type TestCallResult = z.infer<typeof TestCallResult>;

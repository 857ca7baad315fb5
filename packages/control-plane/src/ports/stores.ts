import type { ShadowStore } from "./shadow-store.ts";
import type { StoredCalls } from "./stored-calls.ts";
import type {
  AccessChanges,
  AgentSettings,
  AgentSettingsChange,
  Manifest,
  ReportedCase,
  ThreadPage,
  ThreadDetail,
  Widening,
} from "@patchbay/protocol";
import type { ApprovalStore } from "./approvals.ts";
import type { AuditStore } from "./audit.ts";
import type { AuditSealStore } from "./audit-seals.ts";
import type { MemberStore, ServiceAddress, SignInStore } from "./members.ts";
import type { ClientTokenStore } from "./client-tokens.ts";
import type { RunIndex } from "./run-index.ts";
import type { ThreadKey } from "./records.ts";
import type { CallStore } from "./call-store.ts";
import type { RunStore } from "./run-store.ts";
import type { ViewStore } from "./run-views.ts";
import type { FirstStartStore } from "./first-start.ts";
import type { ServiceTokenStore } from "./service-tokens.ts";
import type { PermitStore } from "./permit-store.ts";
import type { Retention, SweepOptions } from "./retention.ts";
import type { WebhookStore } from "./webhooks.ts";

/** An organisation. */
export interface Org {
  orgId: string;
  name: string;
  tier: string;
}

/** An agent with its settings. */
export interface Agent {
  agentId: string;
  orgId: string;
  name: string;
  instructions: string;
  accessChanges: AccessChanges;
  settings: AgentSettings;
}

/** Changes of an agent. Properties that are left out stay as they are, also those of `settings`. */
export type AgentChange = Partial<Pick<Agent, "name" | "instructions" | "accessChanges">> & {
  settings?: AgentSettingsChange;
};

/** `api` sends queries, `runtime` connects functions, `access` uses the local variant. No kind works in place of another. */
export type CredentialKind = "api" | "runtime" | "access";

/** What an API key may do besides sending queries: `approve` reads and decides approvals. */
export type CredentialRight = "approve";

/** A credential to store. */
export interface NewCredential {
  credentialId: string;
  kind: CredentialKind;
  agentId: string;
  /** SHA-256 of the secret, hex. The secret itself is never stored. */
  hash: string;
  /** First and last characters, by which people recognise a key. */
  hint: string;
  /** Roles that queries with this key may state; undefined for any role. */
  roles?: string[];
  /** Rights besides sending queries; undefined for none. */
  can?: CredentialRight[];
  label?: string;
  expiresAt?: number;
}

/** A stored credential. Times are milliseconds of the database's clock. */
export interface Credential extends NewCredential {
  orgId: string;
  tier: string;
  /** True if requests to its agent must have the token of a proven caller. */
  needsProof?: true;
  createdAt: number;
  lastUsedAt?: number;
  revokedAt?: number;
  /** Id of the first credential of its rotations, unless it is the first one itself. */
  lineage?: string;
}

/** Result of a rotation. `over`: the old credential was revoked or expired, and nothing changed. */
export type RotatedCredential =
  | ({ kind: "rotated"; orgId: string; oldEndsAt: number } & Pick<
      NewCredential,
      "agentId" | "roles" | "can" | "expiresAt"
    >)
  | { kind: "over" };

/** Organisations, agents, credentials and credits. */
export interface AccountStore {
  createOrg(org: Org): Promise<void>;
  listOrgs(): Promise<Org[]>;
  getOrg(orgId: string): Promise<Org | undefined>;
  renameOrg(orgId: string, name: string): Promise<void>;
  /** The new agent follows changes of access and has the default settings. */
  createAgent(agent: Omit<Agent, "accessChanges" | "settings">): Promise<void>;
  listAgents(orgId?: string): Promise<Agent[]>;
  getAgent(agentId: string): Promise<Agent | undefined>;
  /** `hasWebhook`: the ends of runs that a client does not wait for are reported to it. */
  agentWithBalance(agentId: string): Promise<(Agent & { balanceMicros: number; hasWebhook: boolean }) | undefined>;
  /** Returns the agent before and after the change; undefined for an unknown agent. Concurrent changes of different settings all apply. */
  updateAgent(agentId: string, change: AgentChange): Promise<{ before: Agent; after: Agent } | undefined>;
  /** Also ends the agent's credentials. Its runs and threads stay until they are erased. */
  deleteAgent(agentId: string): Promise<boolean>;
  createCredential(credential: NewCredential): Promise<void>;
  /** The credential with this hash; undefined when it is revoked, expired or of a deleted agent. */
  findCredential(kind: CredentialKind, hash: string): Promise<Credential | undefined>;
  listCredentials(kind: CredentialKind, agentId: string): Promise<Credential[]>;
  /** Returns the owner; undefined for an unknown credential. */
  revokeCredential(kind: CredentialKind, credentialId: string): Promise<{ orgId: string; agentId: string } | undefined>;
  /**
   * Adds `fresh` with the roles, rights, label and lifetime of a valid credential. The old one ends after `overlapMs` or at its own
   * expiry, whichever is earlier; 0 revokes it. Undefined for an unknown credential.
   */
  rotateCredential(
    kind: CredentialKind,
    credentialId: string,
    fresh: Pick<NewCredential, "credentialId" | "hash" | "hint">,
    overlapMs: number,
  ): Promise<RotatedCredential | undefined>;
  /** Returns the ids that are neither revoked nor expired nor of a deleted agent. */
  validCredentials(credentialIds: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Whether the sender of a run may still have it continued under its role: a credential whose lineage has a valid credential that
   * may state the role, or a member who was not removed. False for every run of a deleted agent.
   */
  mayContinue(run: { agentId: string; keyId: string; role?: string }): Promise<boolean>;
  /** True for one credential, two of a rotation lineage, and one member. */
  haveSameHolder(keyId: string, otherId: string): Promise<boolean>;
  /** Stores the time of use, at most once a minute per credential. */
  touchCredential(credentialId: string): Promise<void>;
  /** Adds micro-USD, a million to the dollar. Returns the new balance. */
  grant(orgId: string, micros: number): Promise<number>;
  balance(orgId: string): Promise<number>;
  /** Counts one query in the organisation's current minute of the database's clock. `msLeft`: until the minute ends. */
  countQuery(orgId: string): Promise<{ count: number; msLeft: number }>;
}

/** Conversations. `roles` limits the result to turns of those roles and turns without a role. */
export interface ThreadStore {
  exists(agentId: string, threadId: string): Promise<boolean>;
  /** Id of the thread with this key, if there is one. */
  ofKey(agentId: string, key: ThreadKey): Promise<string | undefined>;
  /** `sessionId` narrows the list to threads with a run of that session. */
  list(
    agentId: string,
    options: { limit: number; cursor?: string; sessionId?: string; roles?: readonly string[] },
  ): Promise<ThreadPage>;
  /** The thread with one page of its messages, oldest first. Throws `invalid_request` for an invalid cursor. */
  get(
    agentId: string,
    threadId: string,
    options: { limit: number; cursor?: string; roles?: readonly string[] },
  ): Promise<ThreadDetail | undefined>;
  /** Whether these roles may see all, some or none of a thread's turns; `none` for an unknown thread. */
  readable(agentId: string, threadId: string, roles: readonly string[] | undefined): Promise<"all" | "some" | "none">;
  /** Erases the thread with its runs, events, turns and calls. */
  erase(agentId: string, threadId: string): Promise<boolean>;
}

/** A function set of a deployment of a service. */
export interface SetIdentity {
  service: string;
  /** Name of the deployment. An unnamed runtime is a deployment of its own, named by its instance id. */
  deployment: string;
  named: boolean;
  manifestHash: string;
}

/** A set in the order of its service: by `place`, then by `position`, the newest last. */
export interface PlacedSet extends SetIdentity {
  /** Position of the deployment's first set. */
  place: number;
  position: number;
  /** True while the set waits for a confirmation. Queries do not use it until then. */
  pending: boolean;
}

/** A function set that a runtime has connected with. Times are milliseconds of the database's clock. */
export interface DeployedSet extends SetIdentity {
  /** 1, 2, 3 … within the service, oldest first. */
  position: number;
  firstSeenAt: number;
  /** Hash of the set that was in use before. */
  replaces?: string;
  /** Rights that this set gives and the set before did not. */
  widenings: Widening[];
  confirmation: "none" | "pending" | "confirmed";
  /** Id of the member who confirmed the set. */
  confirmedBy?: string;
  confirmedAt?: number;
}

/** A connected runtime and the replica that has its connection. */
export interface ConnectedRuntime {
  agentId: string;
  service: string;
  /** Name of the deployment; absent for an unnamed one. */
  deployment?: string;
  /** The runtime's process, the same for all its connections. */
  instanceId: string;
  /** A newer connection of the same runtime replaces this one. */
  connectionId: string;
  replicaId: string;
  manifestHash: string;
  /** Number of calls that the runtime executes at the same time. */
  concurrency: number;
  draining: boolean;
}

/** Function sets and connections of runtimes. */
export interface RuntimeStore {
  /** Replaces the cases and the lock that an earlier runtime reported for the set, by none if this one reports none. */
  saveManifest(
    agentId: string,
    manifestHash: string,
    manifest: Manifest,
    reported?: { cases?: readonly ReportedCase[]; lock?: Readonly<Record<string, unknown>> },
  ): Promise<void>;
  getManifest(agentId: string, manifestHash: string): Promise<Manifest | undefined>;
  /**
   * Deletes manifests of the agent until `keep` are left and returns the number of deleted ones. First those that nothing
   * refers to, then those of past runs, then the newest of a service, always the oldest first. Never deletes the manifest of a
   * connected runtime or of an open run.
   */
  trimManifests(agentId: string, keep: number): Promise<number>;
  /**
   * Adds a set to the order of its service, unless it is stored already; `fresh` is true for an added one. Compares it with the
   * set in use and audits widenings as `access.widened`. Its manifest must be stored. `keyId`: the runtime key of the connection.
   */
  noteSet(
    agentId: string,
    set: SetIdentity,
    manifest: Manifest,
    by: { keyId: string },
  ): Promise<Omit<DeployedSet, "position"> & { fresh: boolean }>;
  /** The newest set of each service and the sets of connected runtimes: they decide which set serves queries. */
  setOrder(agentId: string): Promise<PlacedSet[]>;
  /** All sets, by service, oldest first. */
  functionSets(agentId: string): Promise<DeployedSet[]>;
  /** Confirms this set for all deployments that wait with it. False when none waits. */
  confirmSet(agentId: string, manifestHash: string, confirmation: { by: string }): Promise<boolean>;
  /** Stores a new connection, which replaces an older one of the same runtime. `sdk`: name and version of the runtime's SDK; `host`: the name of its host. */
  connectionOpened(runtime: ConnectedRuntime & { sdk?: string; host?: string }): Promise<void>;
  /** Renews the time of these connections. Ignores connections that were replaced or closed. */
  renewConnections(connectionIds: readonly string[]): Promise<void>;
  /** Stores that a runtime accepts no further calls. Ignored when its connection was replaced. */
  connectionDraining(connectionId: string): Promise<void>;
  /** Stores that a connection was closed. Ignored when it was replaced. */
  connectionClosed(connectionId: string): Promise<void>;
  /** The agent's open connections with a heartbeat in the last 30 s, in the order of their opening. */
  connections(agentId: string): Promise<ConnectedRuntime[]>;
  /**
   * Milliseconds since a runtime of the agent was connected or a function set was added, optionally only with one of these
   * function sets. Undefined without any.
   */
  lastSeenAgoMs(agentId: string, manifestHashes?: readonly string[]): Promise<number | undefined>;
}

/** The store of a control plane. Methods throw `StoreUnavailable` when the database cannot be reached or written. */
export interface Store extends ServiceAddress {
  runs: RunStore;
  index: RunIndex;
  views: ViewStore;
  calls: CallStore & StoredCalls;
  approvals: ApprovalStore;
  permits: PermitStore;
  shadows: ShadowStore;
  accounts: AccountStore;
  serviceTokens: ServiceTokenStore;
  clientTokens: ClientTokenStore<Credential>;
  firstStart: FirstStartStore;
  threads: ThreadStore;
  webhooks: WebhookStore;
  runtimes: RuntimeStore;
  audit: AuditStore & AuditSealStore;
  members: MemberStore;
  signIn: SignInStore;
  /** Rejects when a query would fail now. */
  ping(): Promise<void>;
  /** The database's time in milliseconds since the epoch. */
  now(): Promise<number>;
  /** Runs `work` and what it starts as one organisation: Postgres then hides rows of others. Outside, queries see all. */
  within<T>(orgId: string, work: () => T): T;
  /** Deletes rows past their retention and returns the number of deleted runs. A part that fails does not stop the others. */
  sweep(retention: Partial<Retention> & Pick<Retention, "days">, options?: SweepOptions): Promise<number>;
  /** Writes a consistent copy into a new file while the store is in use. Embedded store only. */
  backup(file: string): Promise<void>;
  close(): Promise<void>;
}

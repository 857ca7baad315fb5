import type { ShadowStore } from "./shadow-store.ts";
import type {
  AccessChanges,
  AgentSettings,
  AgentSettingsChange,
  Manifest,
  ReportedCase,
  ThreadPage,
  ThreadDetail,
} from "@patchbay/protocol";
import type { Widening } from "@patchbay/access";
import type { ApprovalStore } from "./approvals.ts";
import type { AuditStore } from "./audit.ts";
import type { AuditSealStore } from "./audit-seals.ts";
import type { MemberStore, ServiceAddress, SignInStore } from "./members.ts";
import type { VisibleTo } from "../callers.ts";
import type { ClientTokenStore } from "./client-tokens.ts";
import type { PageAsked } from "./page.ts";
import type { Retention, RunIndex, SweepOptions, Upkeep } from "./upkeep.ts";
import type { ThreadKey } from "../records.ts";
import type { CallStore, StoredCalls } from "./call-store.ts";
import type { Credential, CredentialKind, ListedCredential, NewCredential, RotatedCredential } from "./credentials.ts";
import type { RunStore } from "./run-store.ts";
import type { RequestKeyStore } from "./request-keys.ts";
import type { ViewStore } from "./run-views.ts";
import type { FirstStartStore } from "./first-start.ts";
import type { ServiceTimes } from "../service-times.ts";
import type { ServiceTokenStore } from "./service-tokens.ts";
import type { PermitStore } from "./permit-store.ts";
import type { WebhookStore } from "./webhooks.ts";

export type {
  Credential,
  CredentialKind,
  CredentialRight,
  ListedCredential,
  NewCredential,
  RotatedCredential,
} from "./credentials.ts";

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

/** Changes to an agent. Omitted properties do not change, also in `settings`. */
export type AgentChange = Partial<Pick<Agent, "name" | "instructions" | "accessChanges">> & {
  settings?: AgentSettingsChange;
};

/** Organisations, agents, credentials and credits. */
export interface AccountStore {
  createOrg(org: Org): Promise<void>;
  listOrgs(): Promise<Org[]>;
  getOrg(orgId: string): Promise<Org | undefined>;
  renameOrg(orgId: string, name: string): Promise<void>;
  /** The key for the pseudonyms in the organisation's audit log, made at its first use. It never changes. */
  auditKey(orgId: string): Promise<string>;
  /** The new agent's `accessChanges` is `follow`, and it has the default settings. */
  createAgent(agent: Omit<Agent, "accessChanges" | "settings">): Promise<void>;
  listAgents(orgId?: string): Promise<Agent[]>;
  getAgent(agentId: string): Promise<Agent | undefined>;
  /** `hasWebhook`: it is notified when a run ends that no client waits for. */
  agentWithBalance(agentId: string): Promise<(Agent & { balanceMicros: number; hasWebhook: boolean }) | undefined>;
  /** Returns the agent before and after the change; undefined for an unknown agent. Concurrent changes of different settings all apply. */
  updateAgent(agentId: string, change: AgentChange): Promise<{ before: Agent; after: Agent } | undefined>;
  /** Also ends the agent's credentials. Its runs and threads stay until they are erased. */
  deleteAgent(agentId: string): Promise<boolean>;
  /**
   * Returns when it ends: with the service token that made it, at the latest. Null for never. Has no effect for a
   * caller that is stored already.
   */
  createCredential(credential: NewCredential): Promise<number | null>;
  /** The credential with this hash; undefined when it is revoked or expired, or its agent is deleted. */
  findCredential(kind: Credential["kind"], hash: string): Promise<Credential | undefined>;
  listCredentials(kind: CredentialKind, agentId: string): Promise<ListedCredential[]>;
  /** Returns the owner; undefined for an unknown credential. */
  revokeCredential(kind: CredentialKind, credentialId: string): Promise<{ orgId: string; agentId: string } | undefined>;
  /**
   * Adds `fresh` with a valid credential's roles, rights, label and lifetime. The old one ends after `overlapMs` or at
   * its own expiry, whichever is earlier; 0 revokes it. Both end with the service token that rotates, at the latest.
   * Undefined for an unknown credential.
   */
  rotateCredential(
    kind: CredentialKind,
    credentialId: string,
    fresh: Pick<NewCredential, "credentialId" | "hash" | "hint" | "createdBy">,
    overlapMs: number,
  ): Promise<RotatedCredential | undefined>;
  /** Returns the ids that are not revoked or expired, and whose agents exist. */
  validCredentials(credentialIds: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Whether a run may still continue under its role for its sender: a credential whose lineage has a valid credential
   * with one of the roles in `heldBy`, or a member who was not removed. False for every run if the agent is deleted.
   */
  mayContinue(run: { agentId: string; keyId: string; heldBy: readonly string[] | undefined }): Promise<boolean>;
  /**
   * True if the holder of a credential, a member or a service token may also hold what asked for an approval: the same
   * one, one of its rotations, one with a common maker, or its maker. For a retried run, each sender counts as asking.
   */
  haveSameHolder(keyId: string, asked: { requestedBy: string; runId: string }): Promise<boolean>;
  /** Stores the last use, at most once a minute per credential. */
  touchCredential(credentialId: string): Promise<void>;
  /** Adds micro-USD, a million to the dollar. Returns the new balance. */
  grant(orgId: string, micros: number): Promise<number>;
  balance(orgId: string): Promise<number>;
  /** Counts one query in the organisation's current minute by the database's clock. `msLeft`: until the minute ends. */
  countQuery(orgId: string): Promise<{ count: number; msLeft: number }>;
}

/** Conversations, as the reader may see them. A thread belongs to its first run's proven caller. */
export interface ThreadStore {
  exists(agentId: string, threadId: string, visibleTo?: Pick<VisibleTo, "callers">): Promise<boolean>;
  /** The thread with this key, if there is one; returns its id. */
  ofKey(agentId: string, key: ThreadKey, visibleTo?: Pick<VisibleTo, "callers">): Promise<string | undefined>;
  /** `sessionId` narrows the list to threads with a run in that session. */
  list(agentId: string, options: PageAsked & { sessionId?: string } & VisibleTo): Promise<ThreadPage>;
  /** The thread with one page of its messages, oldest first. Throws `invalid_request` for an invalid cursor. */
  get(agentId: string, threadId: string, options: PageAsked & VisibleTo): Promise<ThreadDetail | undefined>;
  /** Whether the reader's roles may see all, some or none of a thread's turns; `none` for an unknown thread. */
  readable(agentId: string, threadId: string, visibleTo?: VisibleTo): Promise<"all" | "some" | "none">;
  /** Erases the thread with its runs, events, turns and calls. */
  erase(agentId: string, threadId: string): Promise<boolean>;
}

/** A function set in a service's deployment. */
export interface SetIdentity {
  service: string;
  /** The deployment's name. An unnamed runtime forms a separate deployment, named by its instance id. */
  deployment: string;
  named: boolean;
  manifestHash: string;
}

/** A set in its service's order: by `place`, then by `position`, the newest last. */
export interface PlacedSet extends SetIdentity {
  /** The deployment's first set's `position`. */
  place: number;
  position: number;
  /** True while the set waits for a confirmation. Queries do not use it until then. */
  pending: boolean;
}

/** A function set that a runtime has connected with. Times are milliseconds by the database's clock. */
export interface DeployedSet extends SetIdentity {
  /** 1, 2, 3 … within the service, oldest first. */
  position: number;
  firstSeenAt: number;
  /** Hash of the previously active set. */
  replaces?: string;
  /** Rights that this set gives and the previous one did not. */
  widenings: Widening[];
  confirmation: "none" | "pending" | "confirmed";
  /** The confirming member's id. */
  confirmedBy?: string;
  confirmedAt?: number;
}

/** A connected runtime and the replica that has its connection. */
export interface ConnectedRuntime {
  agentId: string;
  service: string;
  /** The deployment's name; absent for an unnamed one. */
  deployment?: string;
  /** The runtime's process, the same for all its connections. */
  instanceId: string;
  /** A newer connection of the same runtime replaces this one. */
  connectionId: string;
  replicaId: string;
  manifestHash: string;
  /** How many calls the runtime executes at the same time. */
  concurrency: number;
  draining: boolean;
}

/** Runtimes' function sets and connections. */
export interface RuntimeStore extends ServiceTimes {
  /** Replaces the cases and the lock that an earlier runtime reported for the set; this one may report none. */
  saveManifest(
    agentId: string,
    manifestHash: string,
    manifest: Manifest,
    reported?: { cases?: readonly ReportedCase[]; lock?: Readonly<Record<string, unknown>> },
  ): Promise<void>;
  getManifest(agentId: string, manifestHash: string): Promise<Manifest | undefined>;
  /** SHA-256 of the lock that the set's newest runtime reported, as JSON with sorted members; null without one. */
  lockHash(agentId: string, manifestHash: string): Promise<string | null>;
  /**
   * Deletes the agent's manifests until `keep` are left and returns how many it deleted. First those without
   * references, then those of past runs, then a service's newest, always the oldest first. Never deletes a manifest
   * that a connected runtime or an open run uses.
   */
  trimManifests(agentId: string, keep: number): Promise<number>;
  /**
   * Adds a set to its service's order, unless it is stored already; `fresh` is true for an added one. Compares it with
   * the set in use and audits widenings as `access.widened`. Its manifest must be stored. `keyId`: the connection's
   * runtime key.
   */
  noteSet(
    agentId: string,
    set: SetIdentity,
    manifest: Manifest,
    by: { keyId: string },
  ): Promise<Omit<DeployedSet, "position"> & { fresh: boolean }>;
  /** Each service's newest set and the connected runtimes' sets: they decide which set serves queries. */
  setOrder(agentId: string): Promise<PlacedSet[]>;
  /** All sets, by service, oldest first. */
  functionSets(agentId: string): Promise<DeployedSet[]>;
  /** Confirms this set for all deployments that wait with it. False when none waits. */
  confirmSet(agentId: string, manifestHash: string, confirmation: { by: string }): Promise<boolean>;
  /**
   * Stores a new connection, which replaces the runtime's older one. `sdk`: name and version of the runtime's SDK;
   * `host`: its host name.
   */
  connectionOpened(runtime: ConnectedRuntime & { sdk?: string; host?: string }): Promise<void>;
  /**
   * True for a runtime that will not return: it disconnected after it drained, or it has not been connected for five
   * minutes in which replicas served.
   */
  isGone(agentId: string, instanceId: string): Promise<boolean>;
  /** Renews these connections' times. Ignores connections that were replaced or closed. */
  renewConnections(connectionIds: readonly string[]): Promise<void>;
  /** Stores that a runtime accepts no further calls. Ignored when its connection was replaced. */
  connectionDraining(connectionId: string): Promise<void>;
  /** Stores that a connection was closed. Ignored when it was replaced. */
  connectionClosed(connectionId: string): Promise<void>;
  /** The agent's open connections with a heartbeat in the last 30 s, oldest first. */
  connections(agentId: string): Promise<ConnectedRuntime[]>;
}

/** A control plane's store. Methods throw `StoreUnavailable` when the database cannot be reached or written. */
export interface Store extends ServiceAddress, Upkeep {
  runs: RunStore;
  index: RunIndex;
  views: ViewStore;
  requestKeys: RequestKeyStore;
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
  /** How many groups of rows this process could not store in one statement, by kind. */
  failedGroups(): Readonly<Record<string, number>>;
  /** The database's time in milliseconds since the epoch. */
  now(): Promise<number>;
  /** Runs `work` and what it starts as one organisation: Postgres then hides rows of others. Outside, queries see all. */
  within<T>(orgId: string, work: () => T): T;
  /**
   * Deletes rows past their retention within a budget. Returns the number of deleted runs. A part that fails does not
   * stop the others.
   */
  sweep(retention: Partial<Retention> & Pick<Retention, "days">, options?: SweepOptions): Promise<number>;
  /** Writes a consistent copy into a new file while the store is in use. Embedded store only. */
  backup(file: string): Promise<void>;
  close(): Promise<void>;
}

import type {
  AccessChanges,
  AgentSettings,
  AgentSettingsChange,
  Manifest,
  ThreadPage,
  ThreadDetail,
  Widening,
} from "@patchbay/protocol";
import type { ConsoleStore } from "./console-store.ts";
import type { AuditEntry } from "./records.ts";
import type { CallStore, RunStore } from "./run-store.ts";

export interface Org {
  orgId: string;
  name: string;
  tier: string;
}

export interface Agent {
  agentId: string;
  orgId: string;
  name: string;
  instructions: string;
  accessChanges: AccessChanges;
  settings: AgentSettings;
}

/** What of an agent is changed; the rest stays, and so do the members of `settings` that are left out. */
export type AgentChange = Partial<Pick<Agent, "name" | "instructions" | "accessChanges">> & {
  settings?: AgentSettingsChange;
};

/** `api`: queries. `runtime`: connects functions. `access`: the local variant. None opens what another opens. */
export type CredentialKind = "api" | "runtime" | "access";

export interface NewCredential {
  credentialId: string;
  kind: CredentialKind;
  agentId: string;
  /** SHA-256 of the secret, hex. The secret itself is never stored. */
  hash: string;
  /** First and last characters, for people to tell keys apart. */
  hint: string;
  /** Roles the key is pinned to; undefined means any. */
  roles?: string[];
  label?: string;
  expiresAt?: number;
}

export interface Credential extends NewCredential {
  orgId: string;
  tier: string;
  createdAt: number;
  lastUsedAt?: number;
  revokedAt?: number;
}

/** The credential that took another one's place; `over`: that one was revoked or had expired, and nothing was changed. */
export type RotatedCredential =
  | { kind: "rotated"; orgId: string; agentId: string; roles?: string[]; expiresAt?: number; oldEndsAt: number }
  | { kind: "over" };

/** Organisations, agents, credentials and credits. */
export interface AccountStore {
  createOrg(org: Org): Promise<void>;
  listOrgs(): Promise<Org[]>;
  getOrg(orgId: string): Promise<Org | undefined>;
  renameOrg(orgId: string, name: string): Promise<void>;
  /** It follows changes of access, and its runs have the service's defaults. */
  createAgent(agent: Omit<Agent, "accessChanges" | "settings">): Promise<void>;
  listAgents(orgId?: string): Promise<Agent[]>;
  getAgent(agentId: string): Promise<Agent | undefined>;
  /** The agent before and after it, undefined when there is no such agent. Changes of different settings never undo each other. */
  updateAgent(agentId: string, change: AgentChange): Promise<{ before: Agent; after: Agent } | undefined>;
  /** Its credentials stop working with it; its runs and threads stay until they are erased. */
  deleteAgent(agentId: string): Promise<boolean>;
  createCredential(credential: NewCredential): Promise<void>;
  /** The credential with this hash, unless revoked, expired or of a deleted agent. */
  findCredential(kind: CredentialKind, hash: string): Promise<Credential | undefined>;
  listCredentials(kind: CredentialKind, agentId: string): Promise<Credential[]>;
  /** Whose it was; undefined when there is no such credential. */
  revokeCredential(kind: CredentialKind, credentialId: string): Promise<{ orgId: string; agentId: string } | undefined>;
  /**
   * Puts `fresh` beside a valid credential, with its roles, label and length of life; the old one then ends after `overlapMs`, or
   * when it would have, whichever comes first; with 0 it is revoked. Undefined when there is no such credential.
   */
  rotateCredential(
    kind: CredentialKind,
    credentialId: string,
    fresh: Pick<NewCredential, "credentialId" | "hash" | "hint">,
    overlapMs: number,
  ): Promise<RotatedCredential | undefined>;
  /** Which of these are neither revoked nor expired nor of a deleted agent. */
  validCredentials(credentialIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Remembers when a credential was used; at most one write a minute for each. */
  touchCredential(credentialId: string): Promise<void>;
  /** Micro-USD; one million to the dollar. Returns the new balance. */
  grant(orgId: string, micros: number): Promise<number>;
  balance(orgId: string): Promise<number>;
  /** Counts one query in the organisation's present minute of the database's clock, and says where it stands. */
  countQuery(orgId: string): Promise<{ count: number; msLeft: number }>;
}

/** Conversations as clients list them. `roles` narrows what is shown to turns of those roles or of no role. */
export interface ThreadStore {
  exists(agentId: string, threadId: string): Promise<boolean>;
  /** `sessionId` narrows the list to threads with a run of that session. */
  list(
    agentId: string,
    options: { limit: number; cursor?: string; sessionId?: string; roles?: readonly string[] },
  ): Promise<ThreadPage>;
  /** The thread with one page of its messages, oldest first. Throws `invalid_request` for a cursor that no page gave. */
  get(
    agentId: string,
    threadId: string,
    options: { limit: number; cursor?: string; roles?: readonly string[] },
  ): Promise<ThreadDetail | undefined>;
  /** How many of a thread's turns these roles may see; `none` also for a thread that does not exist. */
  readable(agentId: string, threadId: string, roles: readonly string[] | undefined): Promise<"all" | "some" | "none">;
  /** Erases the thread with its runs, events, turns and calls. */
  erase(agentId: string, threadId: string): Promise<boolean>;
}

/** A function set as a deployment of a service offers it. */
export interface SetIdentity {
  service: string;
  /** The deployment's name. Without one each runtime is a deployment of its own, and this is its instance id. */
  deployment: string;
  named: boolean;
  manifestHash: string;
}

/** Where a set is in the order of its service: sets go by `place`, then by `position`; the newest one is the last. */
export interface PlacedSet extends SetIdentity {
  /** Position of the deployment's first set. */
  place: number;
  position: number;
  /** True while it waits for a confirmation: it is not used. */
  pending: boolean;
}

/** A function set that was connected. Times are milliseconds of the database's clock. */
export interface DeployedSet extends SetIdentity {
  /** 1, 2, 3 … within the service, oldest first. */
  position: number;
  firstSeenAt: number;
  /** Hash of the set that was in use before it. */
  replaces?: string;
  /** What it allows and the set before it did not. */
  widenings: Widening[];
  confirmation: "none" | "pending" | "confirmed";
  /** The member who confirmed it. */
  confirmedBy?: string;
  confirmedAt?: number;
}

/** A runtime's link to the replica that holds it. */
export interface ConnectedRuntime {
  agentId: string;
  service: string;
  /** The deployment's name, where the runtime has one. */
  deployment?: string;
  /** The runtime's process; the same over all its links. */
  instanceId: string;
  /** One link; a newer link of the same runtime replaces it. */
  connectionId: string;
  replicaId: string;
  manifestHash: string;
  /** Calls that it runs side by side. */
  concurrency: number;
  draining: boolean;
}

/** What runtimes told of themselves, and which replica holds them. */
export interface RuntimeStore {
  saveManifest(agentId: string, manifestHash: string, manifest: Manifest): Promise<void>;
  getManifest(agentId: string, manifestHash: string): Promise<Manifest | undefined>;
  /**
   * Deletes function sets of the agent until `keep` are left, and returns how many went: first those that nothing names, then
   * those that only the past names, then the newest of a service; the oldest first, and never one of a connected runtime or of
   * an open run.
   */
  trimManifests(agentId: string, keep: number): Promise<number>;
  /**
   * Gives a set its place in the order of its service, where it has none yet (`fresh`), and compares it with the set in use. What
   * it widens is audited as `access.widened`. Its manifest must be stored. `keyId`: the runtime key that connected it.
   */
  noteSet(
    agentId: string,
    set: SetIdentity,
    manifest: Manifest,
    by: { keyId: string },
  ): Promise<Omit<DeployedSet, "position"> & { fresh: boolean }>;
  /** What decides which set serves: the newest set of each service, and those that are connected. */
  setOrder(agentId: string): Promise<PlacedSet[]>;
  /** All of them, by service and oldest first. */
  functionSets(agentId: string): Promise<DeployedSet[]>;
  /** Confirms the newest deployment that waits with this set; false when none does. The confirmation holds for that deployment. */
  confirmSet(agentId: string, manifestHash: string, confirmation: { by: string }): Promise<boolean>;
  /** Notes a new link, in place of an older one of the same runtime. `sdk`: what the runtime runs, as its hello says. */
  linkOpened(runtime: ConnectedRuntime & { sdk?: string }): Promise<void>;
  /** Notes that these links are still there; one that was replaced or closed changes nothing. */
  linksAlive(connectionIds: readonly string[]): Promise<void>;
  /** Notes that a runtime takes no further calls; nothing where its link was replaced. */
  linkDraining(connectionId: string): Promise<void>;
  /** Notes that a link is gone; nothing where it was replaced. */
  linkClosed(connectionId: string): Promise<void>;
  /** The agent's open links that were seen less than 30 s ago, the one that opened first first. */
  links(agentId: string): Promise<ConnectedRuntime[]>;
  /** Milliseconds since a runtime of the agent, with one of these function sets where some are given, was last seen, or such a set was placed; undefined when never. */
  lastSeenAgoMs(agentId: string, manifestHashes?: readonly string[]): Promise<number | undefined>;
}

export interface AuditRow extends AuditEntry {
  id: string;
  at: number;
}

/** Which entries are wanted: those that meet every member given. */
export interface AuditFilter {
  agentId?: string;
  /** What was administered in the organisation, its agents included: entries of no run and no query. */
  orgId?: string;
  runId?: string;
  role?: string;
  functionName?: string;
  /** A whole action (`call.denied`) or the first word of several (`call`). */
  action?: string;
  /** Milliseconds of the database's clock; entries of that moment are in. */
  since?: number;
  /** Entries of that moment are out. */
  until?: number;
}

export interface AuditPage {
  items: AuditRow[];
  nextCursor: string | null;
}

export interface AuditStore {
  record(entries: readonly (AuditEntry & { orgId: string })[]): Promise<void>;
  /** Newest first. Throws `invalid_request` for a cursor that no page gave. */
  list(filter: AuditFilter & { limit: number; cursor?: string }): Promise<AuditPage>;
}

/** How many days rows are kept. */
export interface Retention {
  /** Ended runs, and with them threads, sessions, runtimes and function sets that nothing needs any more. */
  days: number;
  /** Audit entries. Default 365. */
  auditDays: number;
  /** Usage and movements of credits, one by one; older ones stay as sums of a day. Default 90. */
  usageDays: number;
}

export interface SweepOptions {
  /** Ends the sweep between two statements; the rest is left to the next one. */
  signal?: AbortSignal;
  /** Called for a part that failed. Without it the first failure is thrown after the last part. */
  failed?: (part: string, error: unknown) => void;
}

/** Everything that is kept. Methods throw `StoreUnavailable` when the store cannot be reached or written now. */
export interface Store {
  runs: RunStore;
  calls: CallStore;
  accounts: AccountStore;
  threads: ThreadStore;
  runtimes: RuntimeStore;
  audit: AuditStore;
  console: ConsoleStore;
  /** Rejects when a query would fail now. */
  ping(): Promise<void>;
  /** Milliseconds since the epoch by the database's clock. */
  now(): Promise<number>;
  /**
   * Does `work`, and whatever it starts, as one organisation: where the database can hold organisations apart, it shows and
   * changes nothing of others. Outside of it the store sees all.
   */
  within<T>(orgId: string, work: () => T): T;
  /** Deletes what is older than it is kept; returns how many runs went. Each part is tried, whatever becomes of another. */
  sweep(retention: Partial<Retention> & Pick<Retention, "days">, options?: SweepOptions): Promise<number>;
  /** A consistent copy into a new file, while serving. Embedded store only. */
  backup(file: string): Promise<void>;
  close(): Promise<void>;
}

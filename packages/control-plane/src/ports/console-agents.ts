import type { Manifest } from "@patchbay/protocol";
import type {
  Agent,
  AgentDetail,
  Credential,
  FunctionFigures,
  FunctionHistory,
  Runtime,
} from "@patchbay/protocol/console";
import type { Buckets } from "./console-insight.ts";
import type { PageAsked, PageOf } from "./console-runs.ts";
import type { CredentialKind, DeployedSet } from "./stores.ts";

/** Agents as the console shows them; deleted ones are not there. */
export interface AgentReads {
  /** Newest first. `q` is looked for in the name, or is an id's beginning. */
  list(orgId: string, asked: { q?: string | undefined } & PageAsked): Promise<PageOf<Agent>>;
  get(orgId: string, agentId: string): Promise<AgentDetail | undefined>;
}

export interface CredentialReads {
  /** Newest first, of every kind unless one is named. */
  list(
    orgId: string,
    agentId: string,
    asked: { kind?: CredentialKind | undefined } & PageAsked,
  ): Promise<PageOf<Credential>>;
  get(orgId: string, agentId: string, credentialId: string): Promise<Credential | undefined>;
}

export interface RuntimeReads {
  /** Connected ones first, then those seen in the last 7 days; among them the one that connected last first. */
  list(orgId: string, agentId: string, asked: PageAsked): Promise<PageOf<Runtime>>;
}

/** A function set as it was connected. Times are milliseconds of the database's clock. */
export interface StoredFunctionSet {
  manifestHash: string;
  manifest: Manifest;
  firstSeenAt: number;
  /** A runtime with it is connected now. */
  connected: boolean;
}

/** How a function was called by a role in some time. */
export interface RoleCalls {
  functionName: string;
  role: string | null;
  /** Calls that the checks let through, whatever their outcome. */
  calls: number;
  denied: number;
  lastAt: number;
}

/** How a function was called in a short time. Percentiles are within 5 % and leave denied calls out. */
export type BucketOfCalls = Omit<FunctionHistory["buckets"][number], "at">;

/** Milliseconds of the database's clock; `from` is in it, `to` is not. */
interface Range {
  from: number;
  to: number;
}

export interface FunctionReads {
  /** Undefined when the agent has no such set; without a hash the one that new runs get, or the one connected last. */
  set(orgId: string, agentId: string, manifestHash: string | undefined): Promise<StoredFunctionSet | undefined>;
  /** Newest first. */
  sets(orgId: string, agentId: string, asked: PageAsked): Promise<PageOf<StoredFunctionSet>>;
  /** Sets that widened access, as deployments brought them, newest first. `confirmedBy` is the member's name or address, where known. */
  widened(orgId: string, agentId: string, asked: PageAsked): Promise<PageOf<Omit<DeployedSet, "position">>>;
  /** By name, of calls that ended between the two. Percentiles are within 5 % and leave denied calls out. */
  figures(orgId: string, agentId: string, range: Range): Promise<ReadonlyMap<string, FunctionFigures>>;
  /** Of one function's calls that ended between the two, by bucket; none is left out. */
  history(
    orgId: string,
    agentId: string,
    functionName: string,
    range: Range,
    buckets: Buckets,
  ): Promise<BucketOfCalls[]>;
  /**
   * Of calls that ended in the range, of these functions by these roles and by none. `cut`: the `limit` was reached, and pairs with
   * fewer calls may be missing or too low.
   */
  callsByRole(
    orgId: string,
    agentId: string,
    asked: { range: Range; functions: readonly string[]; roles: readonly string[]; limit: number },
  ): Promise<{ items: RoleCalls[]; cut: boolean }>;
}

/** What lists of an organisation show, in few characters that differ where a list would. */
export interface ListSigns {
  members: string;
  credits: string;
  /** By agent. */
  agents: ReadonlyMap<string, AgentSigns>;
}

export interface AgentSigns {
  agents: string;
  runs: string;
  runtimes: string;
  credentials: string;
}

export interface LiveReads {
  /** Undefined when there is no such organisation. Costs a few look-ups by index, however many runs there are. */
  signs(orgId: string): Promise<ListSigns | undefined>;
}

import type {
  CallFlow,
  CallOutcome,
  CallToJudge,
  GrantedApproval,
  HookCall,
  HookVerdict,
  Inclusions,
  Judgement,
  Manifest,
  PreparedContext,
  ServiceHooks,
  StoredCall,
  TraceContext,
} from "@patchbay/protocol";
import type { JsonValue } from "@patchbay/kit";
import type { Caller } from "./callers.ts";

/** A function set with its hash, the key in the store. */
export interface FunctionSet {
  manifest: Manifest;
  manifestHash: string;
}

/** One service's function set. */
export interface ServiceSet extends FunctionSet {
  service: string;
}

/** The function set that a run uses to its end: the only service's, or a combination from all services. */
export interface FunctionSession extends FunctionSet {
  /** Sorted by name. */
  services: ServiceSet[];
  /**
   * Services that had a runtime in the last minute and did not reconnect in time: the set does not contain their
   * functions.
   */
  missing: MissingService[];
}

/** A service whose functions a session does not contain. */
export interface MissingService {
  service: string;
  hasHooks: boolean;
}

/** The hooks for this function set: those of a single service, or of each service in a combination, sorted by name. */
export function hooksOf({ manifest, manifestHash }: FunctionSet): ServiceHooks[] {
  const { name: service, hooks, beforeQuery = false, beforeAnswer = false } = manifest;
  return hooks ?? (beforeQuery || beforeAnswer ? [{ service, manifestHash, beforeQuery, beforeAnswer }] : []);
}

/** What a hook decides on, and its time limit. */
export interface HookInput {
  call: HookCall;
  timeoutMs: number;
  /** The span that asks. */
  trace?: TraceContext;
}

/** A connected service, and the reason if new runs do not get its functions. */
export type ServiceState =
  | {
      service: string;
      serves: true;
      deployment: string;
      manifestHash: string;
      /** True for an older set that serves because the newest one has no connected runtime. */
      isFallback: boolean;
    }
  | { service: string; serves: false; reason: string };

/** Everything that a runtime needs to execute one call. The call's intent is stored before its order is delivered. */
export interface CallOrder extends Caller {
  callId: string;
  attempt: number;
  /** The assigned runtime, as stored with the intent. */
  instanceId: string;
  agentId: string;
  functionName: string;
  arguments: JsonValue;
  /** The caller's token, for a function that needs it. Only a connection to this replica carries it. */
  callerToken?: string;
  /** True if an earlier attempt may have run. */
  unsure?: boolean;
  /** True if the wait ends as soon as the handler is known to run. */
  detached?: boolean;
  /** What the run has seen before the call, for a service with data-flow rules. */
  flow?: CallFlow;
  /** A person's decision, on deliveries after it. */
  approval?: GrantedApproval;
  threadId: string;
  sessionId?: string;
  runId: string;
  /** The run's fence: a host replica rejects calls from a replica that has lost the run's lease. */
  fence: number;
  /** The handler's time limit. */
  timeoutMs: number;
  /**
   * When the previous attempt ended, by the database's clock. This one did not begin earlier. Absent for the first one.
   */
  afterMs?: number;
  /** The call's span. Not stored with the call: another owner makes a new span. */
  trace?: TraceContext;
}

/** Identifies a call and its runtime. Runtimes choose their instance ids, so two agents may have equal ones. */
export type CallAddress = Pick<CallOrder, "agentId" | "callId" | "instanceId">;
export type AttemptAddress = CallAddress & Pick<CallOrder, "attempt">;

/**
 * How a delivery ended. `undelivered`: the handler did not start, and this attempt will not run later (it was not sent,
 * or the runtime reports that it never saw it and refuses it from then on), so any runtime may receive the call.
 * `unknown`: the handler may have run. `unanswered`: the control plane ended the call, whose handler may still run.
 * `running`: the handler of a detached call runs; its outcome is stored when it arrives.
 */
export type Delivery =
  | { kind: "outcome"; outcome: CallOutcome; unanswered?: true }
  | { kind: "undelivered" }
  | { kind: "running" }
  | { kind: "unknown" };

/**
 * Abort reason that ends the wait but not the call: the run continues on another replica, which asks for the outcome.
 */
export class RunMoved extends Error {
  override readonly name: string = "RunMoved";
}

export interface DeliveryOptions {
  signal: AbortSignal;
  onProgress?: (data: JsonValue) => void;
  /** Called once with the frame's send time, by the database's clock. Not called if the time is unknown. */
  onSent?: (at: number) => void;
}

/** Calls functions on connected runtimes, at any replica. */
export interface FunctionGateway {
  /**
   * The functions for new runs: each connected service's newest set, or an older one that widens nothing against it.
   * For each service without such a set whose runtime is likely to reconnect soon, waits up to 15 s (`arrivalMs`), or
   * until 20 s after a start, and at most `withinMs`; then continues with the other services. Undefined when no service
   * is connected.
   */
  session(agentId: string, options: { signal: AbortSignal; withinMs?: number }): Promise<FunctionSession | undefined>;

  /** Combines the sets of some services in a session. A combination is stored, so that a run may refer to it. */
  combine(agentId: string, services: readonly ServiceSet[]): Promise<FunctionSet>;

  /**
   * What `session` would return now without waiting, and each connected service's state. `inclusions`: what all connected
   * services say about roles, or while none is connected, all services' newest sets.
   */
  serving(agentId: string): Promise<{ set?: FunctionSet; services: ServiceState[]; inclusions?: Inclusions }>;

  /**
   * Has the owner's code check the context and name its subject, or decide on `call` instead. Undefined when no runtime
   * answers within 5 s.
   */
  prepare(
    agentId: string,
    manifestHash: string,
    caller: Caller & { call?: CallToJudge },
    options: { signal: AbortSignal; trace?: TraceContext },
  ): Promise<PreparedContext | undefined>;

  /**
   * Runs a hook from the service with this function set. When a runtime is lost before it answers, waits for it or asks
   * another one. Undefined when none answers in time.
   */
  runHook(
    agentId: string,
    manifestHash: string,
    input: HookInput,
    options: { signal: AbortSignal },
  ): Promise<HookVerdict | undefined>;

  /**
   * Assigns a runtime to a call: the least loaded with this function set, else one with another set from the same
   * service under which the function allows no more. Resolves with its instance id. While none is connected, waits as
   * `session` does, then resolves with undefined. `near`: prefers runtimes that are connected to this replica.
   */
  assign(
    agentId: string,
    manifestHash: string,
    functionName: string,
    options: { signal: AbortSignal; near?: boolean },
  ): Promise<string | undefined>;

  /**
   * Sends the call to its runtime and waits for its outcome. When the connection closes during the call, waits up to
   * 12.5 s for the next one and asks the runtime for the call's state. After `timeoutMs` it asks the handler to stop;
   * without an outcome within 2 s, the delivery has the outcome `timed_out`. Rejects on abort with `signal.reason`, and
   * asks the handler to stop unless the reason is a `RunMoved`.
   */
  deliver(order: CallOrder, options: DeliveryOptions): Promise<Delivery>;

  /**
   * Asks the order's runtime about a call that another replica sent, and waits for its outcome as `deliver` does: for a
   * runtime that is not connected, up to 17.5 s.
   */
  recover(order: CallOrder, options: DeliveryOptions): Promise<Delivery>;

  /**
   * Confirms to the runtime that the outcomes up to this attempt are stored. Best effort: the runtime sends an unconfirmed result again
   * after a reconnect.
   */
  acknowledge(stored: AttemptAddress): void;

  /**
   * Asks the handler of a call to stop that no delivery waits for. Best effort: a runtime that is not connected learns it
   * when it reports over its next connection that the handler runs.
   */
  stop(call: CallAddress): void;

  /**
   * What the checks of the connected candidate with this function set decide on a stored call; empty when it does not
   * answer in time, or is another service of the agent. Throws `conflict` when none is connected to any replica.
   */
  judge(
    agentId: string,
    manifestHash: string,
    call: StoredCall & { manifest: Manifest | undefined },
    signal: AbortSignal,
  ): Promise<Judgement>;

  /** True when a runtime for the agent is connected now, to any replica. */
  connected(agentId: string): Promise<boolean>;

  /**
   * Calls `changed` until disposed whenever `session` may return another set from then on, or the agent was renamed.
   * Misses changes that no replica announces: one that died with its connections, or a set that a command confirmed in
   * the store.
   */
  onChange(agentId: string, changed: () => void): Disposable;
}

import type {
  CallOutcome,
  HookCall,
  HookVerdict,
  JsonObject,
  JsonValue,
  Manifest,
  PreparedContext,
  ServiceHooks,
} from "@patchbay/protocol";

/** A function set with the hash under which it is stored. */
export interface FunctionSet {
  manifest: Manifest;
  manifestHash: string;
}

/** The function set of one service. */
export interface ServiceSet extends FunctionSet {
  service: string;
}

/** The function set that a new run keeps: that of the only service, or a combination of those of all services. */
export interface FunctionSession extends FunctionSet {
  /** By name. */
  services: ServiceSet[];
  /** The services that had a runtime in the last minute and did not come back in time: the set is without them. */
  missing: MissingService[];
}

export interface MissingService {
  service: string;
  hasHooks: boolean;
}

/** The hooks that runs with this function set pass: those of a single service, or of each of a combination, in the order of their names. */
export function hooksOf({ manifest, manifestHash }: FunctionSet): ServiceHooks[] {
  const { name: service, hooks, beforeQuery = false, beforeAnswer = false } = manifest;
  return hooks ?? (beforeQuery || beforeAnswer ? [{ service, manifestHash, beforeQuery, beforeAnswer }] : []);
}

/** What a hook is asked, and the time it has. */
export interface HookInput {
  call: HookCall;
  timeoutMs: number;
}

/** A connected service, and why new runs do not get its functions where they do not. */
export type ServiceState =
  | {
      service: string;
      serves: true;
      deployment: string;
      manifestHash: string;
      /** True for an older set that serves because no runtime of the newest one is connected. */
      standsIn: boolean;
    }
  | { service: string; serves: false; reason: string };

/** Everything a runtime needs to run one call. The call's intent must be stored before an order is given out. */
export interface CallOrder {
  callId: string;
  attempt: number;
  /** The runtime that was chosen and stored with the intent. */
  instanceId: string;
  agentId: string;
  functionName: string;
  arguments: JsonValue;
  role?: string;
  context: JsonObject;
  threadId: string;
  sessionId?: string;
  runId: string;
  /** The run's fence: a replica that lost the run cannot have the call taken by another one. */
  fence: number;
  /** Time the handler has, in milliseconds. */
  timeoutMs: number;
}

/** Which call of which runtime: two agents may have chosen the same instance id. */
export type CallAddress = Pick<CallOrder, "agentId" | "callId" | "instanceId">;

/**
 * How a delivery ended. `undelivered`: the handler surely did not start (not sent, or the runtime says it never saw it, and
 * then refuses this attempt for good), so the call may be given to any runtime. `unknown`: it may have run.
 */
export type Delivery = { kind: "outcome"; outcome: CallOutcome } | { kind: "undelivered" } | { kind: "unknown" };

/**
 * A signal's reason that ends the waiting and not the call: the run goes on at another owner, who will ask for the outcome.
 */
export class RunMoved extends Error {
  override readonly name: string = "RunMoved";
}

export interface DeliveryOptions {
  signal: AbortSignal;
  onProgress?: (data: JsonValue) => void;
  /** Called once, with the moment of the database's clock at which the frame left; not called where nobody knows it. */
  onSent?: (at: number) => void;
}

/** The control plane's side of the links to owners' runtimes. */
export interface FunctionGateway {
  /**
   * The functions that new runs get: of each connected service its newest set, or an older one that widens nothing against it.
   * Waits up to 15 s (`arrivalMs`) for each service that has no connected set but had a runtime with one in the last minute,
   * then goes on with the other services. Undefined when no service is connected.
   */
  session(agentId: string, options: { signal: AbortSignal }): Promise<FunctionSession | undefined>;

  /** The set of some services of a session: a combination is stored, so that a run may name it. */
  combine(agentId: string, services: readonly ServiceSet[]): Promise<FunctionSet>;

  /** What `session` would give now, and how each connected service stands. */
  serving(agentId: string): Promise<{ set?: FunctionSet; services: ServiceState[] }>;

  /** Lets the owner's code check the context and say whose data it is about. Undefined when a runtime does not answer within 5 s. */
  prepare(
    agentId: string,
    manifestHash: string,
    input: { role?: string; context: JsonObject },
    options: { signal: AbortSignal },
  ): Promise<PreparedContext | undefined>;

  /**
   * Runs a hook of the service with this function set. A runtime that is lost before it answers is waited for, or another one
   * is asked. Undefined when none answers in time.
   */
  runHook(
    agentId: string,
    manifestHash: string,
    input: HookInput,
    options: { signal: AbortSignal },
  ): Promise<HookVerdict | undefined>;

  /**
   * Chooses a runtime for a call: the least loaded with this function set, else with another set of the same service under
   * which the function allows no more. Waits as `session` does when none is connected; undefined when there is none.
   */
  assign(
    agentId: string,
    manifestHash: string,
    functionName: string,
    options: { signal: AbortSignal },
  ): Promise<string | undefined>;

  /**
   * Sends the call to its runtime and waits for its outcome. A link lost in mid-call is waited for up to 12.5 s, then the
   * runtime is asked what became of the call. When `timeoutMs` is over the handler is told to stop and, unless its outcome
   * arrives within 2 s, the delivery is an outcome `timed_out`. On abort the promise rejects with `signal.reason` at once, and
   * the handler is told to stop unless that is a `RunMoved`.
   */
  deliver(order: CallOrder, options: DeliveryOptions): Promise<Delivery>;

  /** Asks the order's runtime what became of a call that another owner of the run sent, and waits for its outcome as `deliver` does. */
  recover(order: CallOrder, options: DeliveryOptions): Promise<Delivery>;

  /** Tells the runtime that the outcome is stored. Best effort: an unacknowledged result is sent again after a reconnect. */
  acknowledge(call: CallAddress): void;

  /** True when any runtime of the agent is connected now, to whichever replica. */
  connected(agentId: string): Promise<boolean>;
}

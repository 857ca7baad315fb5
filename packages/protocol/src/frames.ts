import { z } from "zod";
import { CALL_ERROR_CODES } from "./codes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { Manifest } from "./manifest.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject);
const id = z.string().min(1).max(128);

/** Version of the frames. A control plane refuses a runtime with another version. */
export const FRAMES_VERSION = 1;

/** The deepest nesting of a frame: its payload may nest as deeply as a request body, and is a few levels down in the frame. */
export const FRAME_DEPTH = LIMITS.jsonDepth + 4;

/** The arguments that the handler received, if they differ from those of the call: with defaults, without dropped properties. */
const input = json.optional();

/** The outcome of one function call, as the runtime reports it and the log stores it. */
export const CallOutcome = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    value: json,
    /** Paths of the restricted fields that the runtime removed from the value, because the role may not see them. */
    redacted: z.array(z.string()).optional(),
    input,
  }),
  z.object({
    ok: z.literal(false),
    code: z.enum(CALL_ERROR_CODES),
    message: z.string(),
    rule: z.string().optional(),
    input,
  }),
]);
export type CallOutcome = z.infer<typeof CallOutcome>;

/** The result of preparing the context of a query, before its first model turn. */
export const PreparedContext = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    /** The subject of the query. The model does not receive history of other subjects. */
    subject: z.string().optional(),
    /** The part of the context that the model receives. Absent: all of it. */
    modelContext: json.optional(),
  }),
  z.object({ ok: z.literal(false), faults: z.array(z.object({ path: z.string(), message: z.string() })) }),
]);
export type PreparedContext = z.infer<typeof PreparedContext>;

const ofQuery = { role: z.string().optional(), context: jsonObject };

/**
 * The input of a hook: a query, or a text of the model. `part` is `answer` for the text that answers the query, and `thought` for
 * reasoning, the plan and texts next to function calls.
 */
export const HookCall = z.discriminatedUnion("hook", [
  z.object({ hook: z.literal("beforeQuery"), query: z.string(), ...ofQuery }),
  z.object({ hook: z.literal("beforeAnswer"), answer: z.string(), part: z.enum(["answer", "thought"]), ...ofQuery }),
]);
export type HookCall = z.infer<typeof HookCall>;

/** The decision of a hook. `failed`: it threw, timed out or returned something else; the reference is in the runtime's log. */
export const HookVerdict = z.discriminatedUnion("verdict", [
  z.object({ verdict: z.literal("passed") }),
  z.object({ verdict: z.literal("replaced"), text: z.string() }),
  z.object({ verdict: z.literal("refused"), text: z.string().min(1) }),
  z.object({ verdict: z.literal("failed"), reference: z.string() }),
]);
export type HookVerdict = z.infer<typeof HookVerdict>;

/** Frames that a runtime sends. The first one must be `hello`. */
export const RuntimeFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hello"),
    version: z.int(),
    /** Stable for the life of the runtime's process; new after a restart. */
    instanceId: id,
    manifest: Manifest,
    /** Names the release that the process runs. Without a name, each process is a deployment of its own. */
    deployment: z.string().min(1).max(LIMITS.deploymentUnits).exactOptional(),
    /** Calls that the runtime runs at the same time. */
    concurrency: z.int().positive().max(10_000),
    sdk: z.string().max(100),
  }),
  z.object({ type: z.literal("result"), callId: id, attempt: z.int().positive(), outcome: CallOutcome }),
  z.object({ type: z.literal("progress"), callId: id, data: json }),
  /** Answer to `callQuery`. The result follows `done`. `unseen` promises that this attempt and older ones will not run. */
  z.object({
    type: z.literal("callState"),
    callId: id,
    /** The attempt of the `callQuery`. Absent from runtimes of an earlier version. */
    attempt: z.int().positive().optional(),
    state: z.enum(["running", "done", "unseen"]),
  }),
  z.object({ type: z.literal("prepared"), id, prepared: PreparedContext }),
  z.object({ type: z.literal("hookResult"), id, result: HookVerdict }),
  /** The runtime accepts no further calls and disconnects when its open calls are done. */
  z.object({ type: z.literal("draining") }),
]);
export type RuntimeFrame = z.infer<typeof RuntimeFrame>;

/** Frames that a control plane sends. The first one is `welcome`. It refuses a runtime by closing the WebSocket with a reason. */
export const ControlPlaneFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("welcome"),
    connectionId: id,
    agentId: z.string(),
    heartbeatMs: z.int().positive(),
    /** Frames per second that the runtime may send without having been asked for them. The control plane drops more. */
    framesPerSecond: z.int().positive().optional(),
  }),
  z.object({
    type: z.literal("call"),
    callId: id,
    /** 1 for the first delivery, and higher for each redelivery. */
    attempt: z.int().positive(),
    function: z.string(),
    arguments: json,
    role: z.string().optional(),
    context: jsonObject,
    threadId: z.string(),
    sessionId: z.string().optional(),
    runId: z.string(),
    /** The time that the handler had left when the frame was sent. */
    timeoutMs: z.int().nonnegative(),
  }),
  z.object({ type: z.literal("cancel"), callId: id, reason: z.string() }),
  z.object({ type: z.literal("callQuery"), callId: id, attempt: z.int().positive() }),
  /** The control plane has stored the result, so the runtime may forget it. */
  z.object({ type: z.literal("resultAck"), callId: id }),
  z.object({ type: z.literal("prepare"), id, ...ofQuery }),
  /** Sent only to runtimes whose function set has the hook. `timeoutMs`: the time that the hook had left when the frame was sent. */
  z.object({ type: z.literal("hook"), id, call: HookCall, timeoutMs: z.int().nonnegative() }),
  /** The control plane will stop: the runtime opens another connection and serves this one until it closes. */
  z.object({ type: z.literal("goingAway") }),
]);
export type ControlPlaneFrame = z.infer<typeof ControlPlaneFrame>;
/** Orders a runtime to run one function. A redelivery has the same `callId`. */
export type CallFrame = Extract<ControlPlaneFrame, { type: "call" }>;

/** WebSocket close codes of the reasons for which a control plane closes a runtime's connection. */
export const CLOSE_CODES = {
  badFrame: 4400,
  wrongVersion: 4406,
  manifestRefused: 4422,
  /** Another connected service has a function of the same name, or another default role. The runtime retries. */
  serviceConflict: 4423,
  helloTimeout: 4408,
  replaced: 4409,
  keyRevoked: 4401,
  tooManyFrames: 4429,
  goingAway: 1001,
} as const;

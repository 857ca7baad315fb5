import { z } from "zod";
import { CALL_ERROR_CODES } from "./codes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { Manifest } from "./manifest.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject);
const id = z.string().min(1).max(128);

/** Version of the frames below; a control plane refuses a runtime that speaks another. */
export const LINK_VERSION = 1;

/** Nesting of a frame: what it carries may be as deep as any body, and stands a few levels down in it. */
export const FRAME_DEPTH = LIMITS.jsonDepth + 4;

/** The arguments as the handler got them, where they are not those of the call: with defaults, without members that were dropped. */
const input = json.optional();

/** How one function call ended, as the runtime reports it and the log keeps it. */
export const CallOutcome = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    value: json,
    /** Paths of the members that the role may not see; they were removed before the value left its runtime. */
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

/** What a service made of the context of a query before its first model turn. */
export const PreparedContext = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    /** Whose data the query is about; history of other subjects is not shown to the model. */
    subject: z.string().optional(),
    /** What of the context the model is told; absent means all of it. */
    told: json.optional(),
  }),
  z.object({ ok: z.literal(false), faults: z.array(z.object({ path: z.string(), message: z.string() })) }),
]);
export type PreparedContext = z.infer<typeof PreparedContext>;

const ofQuery = { role: z.string().optional(), context: jsonObject };

/**
 * What a hook decides on: a query, or a text of the model. `part` is `answer` for the text that answers the query, `thought` for
 * its reasoning, its plan and what it writes next to function calls.
 */
export const HookCall = z.discriminatedUnion("hook", [
  z.object({ hook: z.literal("beforeQuery"), query: z.string(), ...ofQuery }),
  z.object({ hook: z.literal("beforeAnswer"), answer: z.string(), part: z.enum(["answer", "thought"]), ...ofQuery }),
]);
export type HookCall = z.infer<typeof HookCall>;

/** What a hook decided. `failed`: it threw, was late or returned something else; the reference is in the log of the runtime. */
export const HookVerdict = z.discriminatedUnion("verdict", [
  z.object({ verdict: z.literal("passed") }),
  z.object({ verdict: z.literal("replaced"), text: z.string() }),
  z.object({ verdict: z.literal("refused"), text: z.string().min(1) }),
  z.object({ verdict: z.literal("failed"), reference: z.string() }),
]);
export type HookVerdict = z.infer<typeof HookVerdict>;

/** Frames a runtime sends. The first one must be `hello`. */
export const RuntimeFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("hello"),
    version: z.int(),
    /** Stable for the life of the runtime's process; new after a restart. */
    instanceId: id,
    manifest: Manifest,
    /** Names the release that the process runs; without it each process is a deployment of its own. */
    deployment: z.string().min(1).max(LIMITS.deploymentUnits).exactOptional(),
    /** Calls that the runtime runs side by side. */
    concurrency: z.int().positive().max(10_000),
    sdk: z.string().max(100),
  }),
  z.object({ type: z.literal("result"), callId: id, attempt: z.int().positive(), outcome: CallOutcome }),
  z.object({ type: z.literal("progress"), callId: id, data: json }),
  /** Answer to `callQuery`. `done` is followed by the result itself; `unseen` also refuses that call's older attempts from now on. */
  z.object({
    type: z.literal("callState"),
    callId: id,
    /** Which attempt was asked about; runtimes of an earlier version do not say. */
    attempt: z.int().positive().optional(),
    state: z.enum(["running", "done", "unseen"]),
  }),
  z.object({ type: z.literal("prepared"), id, prepared: PreparedContext }),
  z.object({ type: z.literal("hookResult"), id, result: HookVerdict }),
  /** The runtime takes no further calls and will leave when those it holds are done. */
  z.object({ type: z.literal("draining") }),
]);
export type RuntimeFrame = z.infer<typeof RuntimeFrame>;

/** Frames a control plane sends. The first one is `welcome`; a refusal is a WebSocket close with a reason. */
export const PlaneFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("welcome"),
    connectionId: id,
    agentId: z.string(),
    heartbeatMs: z.int().positive(),
    /** Frames a second that the runtime may send without being asked for them; more are dropped. */
    framesPerSecond: z.int().positive().optional(),
  }),
  z.object({
    type: z.literal("call"),
    callId: id,
    /** Starts at 1 and grows with each redelivery. */
    attempt: z.int().positive(),
    function: z.string(),
    arguments: json,
    role: z.string().optional(),
    context: jsonObject,
    threadId: z.string(),
    sessionId: z.string().optional(),
    runId: z.string(),
    /** Time left for the handler when the frame was sent. */
    timeoutMs: z.int().nonnegative(),
  }),
  z.object({ type: z.literal("cancel"), callId: id, reason: z.string() }),
  z.object({ type: z.literal("callQuery"), callId: id, attempt: z.int().positive() }),
  /** The result is stored: the runtime may forget it. */
  z.object({ type: z.literal("resultAck"), callId: id }),
  z.object({ type: z.literal("prepare"), id, ...ofQuery }),
  /** Sent only to runtimes whose function set has the hook. `timeoutMs`: time left for it when the frame was sent. */
  z.object({ type: z.literal("hook"), id, call: HookCall, timeoutMs: z.int().nonnegative() }),
  /** The control plane is about to stop: connect anew (elsewhere, where there is a choice) and keep serving meanwhile. */
  z.object({ type: z.literal("goingAway") }),
]);
export type PlaneFrame = z.infer<typeof PlaneFrame>;
/** Asks a runtime to run one function; redelivery sends it again under the same `callId`. */
export type CallFrame = Extract<PlaneFrame, { type: "call" }>;

/** Reasons with which a control plane closes a runtime's link; the numbers are WebSocket close codes. */
export const LINK_CLOSE = {
  badFrame: 4400,
  wrongVersion: 4406,
  manifestRefused: 4422,
  /** Another connected service serves a function of the same name, or has another default role: worth another try. */
  serviceConflict: 4423,
  helloTimeout: 4408,
  replaced: 4409,
  keyRevoked: 4401,
  tooManyFrames: 4429,
  goingAway: 1001,
} as const;

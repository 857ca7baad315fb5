import { z } from "zod";
import { GrantedApproval } from "./approval.ts";
import { FRAMES_VERSION } from "./codes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";
import { LIMITS } from "./limits.ts";
import { Manifest } from "./manifest.ts";
import { CallOutcome, ErrorReport } from "./outcome.ts";
import { JudgedFrame, JudgeFrame, ShadowFrame } from "./shadow-frames.ts";
import { TraceContext } from "./tracing/context.ts";

const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject);
const id = z.string().min(1).max(128);

/** The deepest nesting of a frame: its payload may nest as deeply as a request body, and is a few levels down in the frame. */
export const FRAME_DEPTH = LIMITS.jsonDepth + 4;

/** The result of preparing the context of a query, before its first model turn. */
export const PreparedContext = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    subject: z
      .string()
      .optional()
      .describe("The identity that the owner derives from the context. The model does not receive history of others."),
    modelContext: json.optional().describe("The part of the context that the model receives. Absent: all of it."),
  }),
  z.object({
    ok: z.literal(false),
    faults: z
      .array(
        z.object({
          path: z.string().describe("The place in the query, such as `contextJson.customerId`."),
          message: z.string().describe("What is wrong at this place."),
        }),
      )
      .describe("Why the context does not match the schema. The query is answered with 400."),
  }),
]);
export type PreparedContext = z.infer<typeof PreparedContext>;

const role = z.string().optional().describe("The role of the query, or the service's default role.");
const context = jsonObject.describe("The object of the query's `contextJson`; `{}` if it had none.");

/**
 * The input of a hook: a query, or a text of the model. `part` is `answer` for the text that answers the query, and `thought` for
 * reasoning, the plan and texts next to function calls.
 */
export const HookCall = z.discriminatedUnion("hook", [
  z.object({ hook: z.literal("beforeQuery"), query: z.string().describe("The text of the caller."), role, context }),
  z.object({
    hook: z.literal("beforeAnswer"),
    answer: z.string().describe("A text of the model; a structured answer is fenced JSON."),
    part: z
      .enum(["answer", "thought"])
      .describe("`answer` for the text that answers the query, `thought` for every other text of the model."),
    role,
    context,
  }),
]);
export type HookCall = z.infer<typeof HookCall>;

/** The decision of a hook. `failed`: it threw, timed out or returned something else; the reference is in the runtime's log. */
export const HookVerdict = z.discriminatedUnion("verdict", [
  z.object({ verdict: z.literal("passed") }),
  z.object({
    verdict: z.literal("replaced"),
    text: z.string().describe("Shown and stored in place of the model's text."),
  }),
  z.object({ verdict: z.literal("refused"), text: z.string().min(1).describe("Sent to the caller as the reason.") }),
  z.object({
    verdict: z.literal("failed"),
    reference: z.string().describe("Names the line of the runtime's log that has the error."),
  }),
]);
export type HookVerdict = z.infer<typeof HookVerdict>;

const callId = id.describe("Identifies the call. Every delivery of one call has the same value.");
const requestId = id.describe("Pairs the request with its answer.");
const trace = TraceContext.optional().describe(
  "The span of the control plane that the runtime's span belongs to. Absent from a control plane without tracing.",
);
const attempt = z.int().positive().describe("1 for the first delivery, and higher for each redelivery.");

/** A case of the owner with its call. Its verdicts are in the manifest. */
export const ReportedCase = z.object({
  functionName: z.string().describe("A function of `manifest`, whose option `cases` has the case."),
  name: z.string().describe("Names the case, as in the verdicts of the function in `manifest`."),
  input: jsonObject.describe("The arguments of the call."),
  context: jsonObject.describe("The object of the query's `contextJson`; `{}` if it had none."),
  roles: z.array(z.string()).optional().describe("The roles that the case applies to. Absent: every role."),
});
export type ReportedCase = z.infer<typeof ReportedCase>;

/** Frames that a runtime sends. The first one must be `hello`. */
export const RuntimeFrame = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("hello"),
      version: z
        .int()
        .describe(`${FRAMES_VERSION}. The control plane closes the connection of another version with 4406.`),
      instanceId: id.describe("Identifies the runtime: stable for the life of its process, new after a restart."),
      manifest: Manifest.describe("The function set that the runtime serves."),
      deployment: z
        .string()
        .min(1)
        .max(LIMITS.deploymentUnits)
        .exactOptional()
        .describe("Names the release that the process runs. Without it, each process is a deployment of its own."),
      concurrency: z
        .int()
        .positive()
        .max(10_000)
        .describe("Calls that the runtime runs at the same time. The control plane prefers runtimes with free places."),
      sdk: z.string().max(100).describe("Name and version of the library, for the console and the log."),
      host: z
        .string()
        .max(255)
        .exactOptional()
        .describe("Name of the host, for the console. Absent from runtimes of an earlier version."),
      cases: z
        .array(ReportedCase)
        .refine((cases) => JSON.stringify(cases).length <= LIMITS.reportedCasesUnits, "has too many characters")
        .exactOptional()
        .describe(
          `Cases with their arguments, from runtimes with \`reportCases\`: at most ${LIMITS.reportedCasesUnits} characters of JSON. Shown only to members who may make test calls.`,
        ),
      lock: z
        .record(z.string(), z.unknown())
        .refine((lock) => JSON.stringify(lock).length <= LIMITS.reportedLockUnits, "has too many characters")
        .exactOptional()
        .describe(
          `The service's \`access.lock.json\`, with which the console compares the function set: at most ${LIMITS.reportedLockUnits} characters of JSON. A lock that the control plane cannot read does not refuse the connection.`,
        ),
    })
    .describe("The first frame of a runtime. Without it the connection is closed with 4408."),
  z
    .object({
      type: z.literal("result"),
      callId,
      attempt,
      outcome: CallOutcome.describe("What the call returned, or why it failed."),
      error: ErrorReport.optional().describe(
        "What the owner's code threw, from runtimes with `reportErrors`. Stored apart from the outcome and shown to members only.",
      ),
    })
    .describe(
      "The outcome of a call. The runtime keeps it until a `resultAck` arrives, and sends it again over its next connection.",
    ),
  z
    .object({
      type: z.literal("progress"),
      callId,
      data: json.describe(`What the handler gave to \`progress()\`: at most ${LIMITS.resultToModelBytes} bytes.`),
    })
    .describe(
      "Progress of a running call, for readers of live events. Never stored; dropped beyond `framesPerSecond`.",
    ),
  z
    .object({
      type: z.literal("callState"),
      callId,
      attempt: z
        .int()
        .positive()
        .optional()
        .describe("The value of the `callQuery`. Absent from runtimes of an earlier version."),
      state: z
        .enum(["running", "done", "unseen"])
        .describe("The result follows `done`. `unseen` promises that this attempt and older ones will not run."),
    })
    .describe("The answer to `callQuery`."),
  z
    .object({
      type: z.literal("prepared"),
      id: requestId,
      prepared: PreparedContext.describe("The checked context, or its faults."),
    })
    .describe("The answer to `prepare`."),
  z
    .object({ type: z.literal("hookResult"), id: requestId, result: HookVerdict.describe("The decision of the hook.") })
    .describe("The answer to `hook`."),
  z
    .object({ type: z.literal("draining") })
    .describe("The runtime accepts no further calls and disconnects when its open calls are done."),
  ShadowFrame,
  JudgedFrame,
]);
export type RuntimeFrame = z.infer<typeof RuntimeFrame>;

/** Frames that a control plane sends. The first one is `welcome`. It refuses a runtime by closing the WebSocket with a reason. */
export const ControlPlaneFrame = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("welcome"),
      connectionId: id.describe("Names the connection in the log of the control plane."),
      agentId: z.string().describe("The agent that the runtime key belongs to."),
      heartbeatMs: z
        .int()
        .positive()
        .describe(
          "Milliseconds between two pings of the control plane. A runtime closes a connection without pings for two of them.",
        ),
      framesPerSecond: z
        .int()
        .positive()
        .optional()
        .describe(
          "Frames per second that the runtime may send without having been asked for them. The control plane drops more.",
        ),
    })
    .describe("Accepts the runtime: its function set is registered, and calls may follow."),
  z
    .object({
      type: z.literal("call"),
      callId,
      attempt,
      function: z.string().describe("Name of the function in the manifest."),
      arguments: json.describe("What the model wrote, not yet checked against the input schema."),
      role,
      context,
      threadId: z.string().describe("The conversation of the query."),
      sessionId: z.string().optional().describe("The session of the end user that the query named."),
      runId: z.string().describe("The run that makes the call."),
      timeoutMs: z.int().nonnegative().describe("Milliseconds that the handler had left when the frame was sent."),
      approval: GrantedApproval.optional().describe(
        "The decision of a person, on the delivery after it. `arguments` are those that the model wrote.",
      ),
      unsure: z
        .boolean()
        .optional()
        .describe("True if an earlier attempt may have run: the runtime asks the function's `reconcile` first."),
      trace,
    })
    .describe("Orders the runtime to run one function, after its own checks."),
  z
    .object({
      type: z.literal("cancel"),
      callId,
      reason: z.string().describe("`timed_out` or `cancelled`."),
    })
    .describe("The result is not needed any more: the runtime aborts the handler's signal."),
  z
    .object({
      type: z.literal("callQuery"),
      callId,
      attempt,
      ageMs: z
        .int()
        .nonnegative()
        .optional()
        .describe(
          "Milliseconds since this attempt could begin, for a later one than the first: a runtime that has forgotten only older calls knows that it did not run here.",
        ),
    })
    .describe("Asks for the state of a call, after a connection or a replica was lost."),
  z
    .object({
      type: z.literal("resultAck"),
      callId,
      attempt: attempt
        .optional()
        .describe("The newest attempt whose result is stored. The runtime keeps the result of a later one."),
    })
    .describe("The control plane has stored the result, so the runtime may forget it."),
  z
    .object({ type: z.literal("prepare"), id: requestId, role, context, trace })
    .describe("Asks for a check of a query's context."),
  z
    .object({
      type: z.literal("hook"),
      id: requestId,
      call: HookCall.describe("The query or the text to decide on."),
      timeoutMs: z.int().nonnegative().describe("Milliseconds that the hook had left when the frame was sent."),
      trace,
    })
    .describe("Asks for a decision. Sent only to runtimes whose function set has the hook."),
  JudgeFrame,
  z
    .object({ type: z.literal("goingAway") })
    .describe("The control plane will stop: the runtime opens another connection and serves this one until it closes."),
]);
export type ControlPlaneFrame = z.infer<typeof ControlPlaneFrame>;
/** Orders a runtime to run one function. A redelivery has the same `callId`. */
export type CallFrame = Extract<ControlPlaneFrame, { type: "call" }>;

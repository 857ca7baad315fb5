import { z } from "zod";
import { GrantedApproval } from "./approval.ts";
import { caller, CallerWithToken, context, role } from "./caller.ts";
import { FRAMES_VERSION } from "./codes.ts";
import { CallFlow } from "./flow.ts";
import { HookCall, HookVerdict } from "./hook-frames.ts";
import { LIMITS } from "./limits.ts";
import { Manifest } from "./manifest.ts";
import { CallOutcome, ErrorReport } from "./outcome.ts";
import { JudgedFrame, JudgeFrame, Judgement, ShadowFrame } from "./shadow-frames.ts";
import { TraceContext } from "./tracing/context.ts";
import { fault, json, jsonObject, optionalFlag, optionalText, optionalTexts, text } from "./members.ts";

const id = z.string().min(1).max(128);

/** A frame's deepest nesting: its payload may nest as deeply as a request body, and is a few levels down in the frame. */
export const FRAME_DEPTH = LIMITS.jsonDepth + 4;

/** The result of preparing a query's context, before its first model turn. */
export const PreparedContext = z.discriminatedUnion("ok", [
  z.object({
    ok: z.literal(true),
    subject: optionalText(
      "The identity that the owner derives from the context. The model does not receive other subjects' history.",
    ),
    modelContext: json
      .optional()
      .describe("The part of the context that the model receives. Absent: the whole context."),
    judgement: Judgement.optional().describe("The answer to the question's `call`. Absent from earlier runtimes."),
  }),
  z.object({
    ok: z.literal(false),
    faults: z
      .array(fault("The place in the query, such as `contextJson.customerId`."))
      .describe("Why the context does not match the schema. The query is answered with 400."),
  }),
]);
export type PreparedContext = z.infer<typeof PreparedContext>;

const callId = id.describe("Identifies the call. All its deliveries have the same value.");
const requestId = id.describe("Pairs the request with its answer.");
const trace = TraceContext.optional().describe(
  "The control plane's span above the runtime's span. Absent from a control plane without tracing.",
);
const attempt = z.int().positive().describe("1 for the first delivery, and higher for each redelivery.");

/** A call to decide on, without running it. */
export const CallToJudge = z.object({
  function: text("The function's name in the manifest."),
  arguments: json.describe("The arguments, not yet checked against the input schema."),
});
export type CallToJudge = z.infer<typeof CallToJudge>;

/** An owner's case with its call. Its verdicts are in the manifest. */
export const ReportedCase = z.object({
  functionName: text("A function in `manifest`, whose option `cases` has the case."),
  name: text("Names the case, as in the function's verdicts in `manifest`."),
  input: jsonObject.describe("The call's arguments."),
  context: jsonObject.describe("The object of the query's `contextJson`; `{}` if it had none."),
  roles: optionalTexts("The roles that the case applies to. Absent: every role."),
});
export type ReportedCase = z.infer<typeof ReportedCase>;

/** Frames that a runtime sends. The first one must be `hello`. */
export const RuntimeFrame = z.discriminatedUnion("type", [
  z
    .object({
      type: z.literal("hello"),
      version: z
        .int()
        .describe(`${FRAMES_VERSION}. The control plane closes a connection with another version with 4406.`),
      instanceId: id.describe("Identifies the runtime: stable while its process runs, new after a restart."),
      manifest: Manifest.describe("The function set that the runtime serves."),
      deployment: z
        .string()
        .min(1)
        .max(LIMITS.deploymentUnits)
        .exactOptional()
        .describe("Names the release that the process runs. Without it, each process is a separate deployment."),
      concurrency: z
        .int()
        .positive()
        .max(10_000)
        .describe("Calls that the runtime runs at the same time. The control plane prefers runtimes with free places."),
      sdk: z.string().max(100).describe("The library's name and version, for the console and the log."),
      host: z
        .string()
        .max(255)
        .exactOptional()
        .describe("The host's name, for the console. Absent from earlier runtimes."),
      cases: z
        .array(ReportedCase)
        .refine((cases) => JSON.stringify(cases).length <= LIMITS.reportedCasesUnits, "has too many characters")
        .exactOptional()
        .describe(
          `Cases with their arguments, from runtimes with \`reportCases\`: at most ${LIMITS.reportedCasesUnits} JSON characters. Shown only to members who may make test calls.`,
        ),
      lock: z
        .record(z.string(), z.unknown())
        .refine((lock) => JSON.stringify(lock).length <= LIMITS.reportedLockUnits, "has too many characters")
        .exactOptional()
        .describe(
          `The service's \`access.lock.json\`, with which the console compares the function set: at most ${LIMITS.reportedLockUnits} JSON characters. A lock that the control plane cannot read does not refuse the connection.`,
        ),
    })
    .describe("A runtime's first frame. Without it the connection is closed with 4408."),
  z
    .object({
      type: z.literal("result"),
      callId,
      attempt,
      outcome: CallOutcome.describe("What the call returned, or why it failed."),
      error: ErrorReport.optional().describe(
        "What the owner's code threw, from runtimes with `reportErrors`. Stored apart from the outcome and shown to developers and owners only.",
      ),
    })
    .describe(
      "A call's outcome. The runtime keeps it until a `resultAck` arrives, and sends it again over its next connection.",
    ),
  z
    .object({
      type: z.literal("progress"),
      callId,
      data: json.describe(`What the handler gave to \`progress()\`: at most ${LIMITS.resultToModelBytes} bytes.`),
    })
    .describe(
      "A running call's progress, for readers of live events. Dropped beyond `framesPerSecond`. Only that of detached calls is stored, the newest.",
    ),
  z
    .object({
      type: z.literal("callState"),
      callId,
      attempt: z.int().positive().optional().describe("The value from the `callQuery`. Absent from earlier runtimes."),
      state: z
        .enum(["running", "done", "unseen"])
        .describe("The result follows `done`. `unseen` promises that this attempt and older ones will not run."),
    })
    .describe(
      "The answer to `callQuery`. For a detached call also sent unasked: when its handler begins, and over each later connection while it runs. The control plane answers `cancel` if the call is over.",
    ),
  z
    .object({
      type: z.literal("prepared"),
      id: requestId,
      prepared: PreparedContext.describe("The checked context, or its faults."),
    })
    .describe("The answer to `prepare`."),
  z
    .object({ type: z.literal("hookResult"), id: requestId, result: HookVerdict.describe("The hook's decision.") })
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
      connectionId: id.describe("Names the connection in the control plane's log."),
      agentId: text("The agent that the runtime key belongs to."),
      heartbeatMs: z
        .int()
        .positive()
        .describe(
          "Milliseconds between two control plane pings. A runtime closes a connection after two such periods without a ping.",
        ),
      framesPerSecond: z
        .int()
        .positive()
        .optional()
        .describe(
          "Frames per second that the runtime may send without having been asked for them. The control plane drops more.",
        ),
      warnings: optionalTexts("What does not work with this function set, for the owner. The runtime logs it."),
    })
    .describe("Accepts the runtime: its function set is registered, and calls may follow."),
  z
    .object({
      type: z.literal("call"),
      callId,
      attempt,
      function: text("The function's name in the manifest."),
      arguments: json.describe("What the model wrote, not yet checked against the input schema."),
      role,
      context,
      caller: CallerWithToken.optional().describe("As in `prepare`."),
      threadId: text("The query's conversation."),
      sessionId: optionalText("The end user's session that the query named."),
      runId: text("The run that makes the call."),
      timeoutMs: z.int().nonnegative().describe("Milliseconds that the handler had left when the frame was sent."),
      approval: GrantedApproval.optional().describe(
        "A person's decision, on the delivery after it. `arguments` are the ones that the model wrote.",
      ),
      flow: CallFlow.optional().describe("For services with data-flow rules: what the run has seen before the call."),
      detached: optionalFlag(
        "True if the run waits for the result without a process, as the function is `detached` in its set. The runtime sends `callState` with `running` when the handler begins.",
      ),
      unsure: optionalFlag(
        "True if an earlier attempt may have run: the runtime asks the function's `reconcile` first.",
      ),
      trace,
    })
    .describe("Orders the runtime to run one function, after its own checks."),
  z
    .object({
      type: z.literal("cancel"),
      callId,
      reason: text("`timed_out` or `cancelled`."),
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
    .describe("Asks for a call's state, after a connection or a replica was lost."),
  z
    .object({
      type: z.literal("resultAck"),
      callId,
      attempt: attempt
        .optional()
        .describe("The newest attempt with a stored result. The runtime keeps a later attempt's result."),
    })
    .describe("The control plane has stored the result, so the runtime may forget it."),
  z
    .object({
      type: z.literal("prepare"),
      id: requestId,
      role,
      context,
      caller,
      trace,
      call: CallToJudge.optional().describe("Asks what the checks decide on this call instead. No handler runs."),
    })
    .describe("Asks for a check of a query's context, or of a call."),
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

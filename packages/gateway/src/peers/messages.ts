import { createHash } from "node:crypto";
import {
  CallFlow,
  CallerIdentity,
  CallOutcome,
  CallToJudge,
  HookCall,
  HookVerdict,
  PreparedContext,
  TraceContext,
} from "@patchbay/protocol";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { z } from "zod";

/** Largest frame whose outcome a message includes: the waiting replica reads a larger one from the store. */
export const INLINE_OUTCOME = 65_536;

/** Served by the replica that has the runtime's current connection, its host. */
export function runtimeSubject(agentId: string, instanceId: string): string {
  // A runtime chooses its instance id and may use any character, including those that a subject cannot have.
  return `call.${agentId}.${createHash("sha256").update(instanceId).digest("base64url").slice(0, 22)}`;
}

/** Where a replica receives updates on its calls. */
export const replicaSubject = (replicaId: string): string => `replica.${replicaId}`;

/** Where every replica announces its connections and their load. */
export const PRESENCE_SUBJECT = "runtimes";

const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject);
const attempt = { callId: z.string(), attempt: z.int() };
const replyTo = z.string();
/** The waiting replica's span. Absent without tracing. */
const trace = TraceContext.exactOptional();
/** True if the host has the call only until its handler runs. */
const detached = z.boolean().exactOptional();

/** A request to a runtime's host. `replyTo`: the replica that waits for the call. */
export const HostRequest = z.discriminatedUnion("type", [
  /**
   * Take this attempt. The order itself is in the store, whose row decides whether the host may take it; only what the
   * run has seen before the call is not stored.
   */
  z.object({
    type: z.literal("call"),
    ...attempt,
    fence: z.int(),
    timeoutMs: z.number(),
    replyTo,
    detached,
    trace,
    flow: CallFlow.exactOptional(),
  }),
  /** Which of these calls do you have? */
  z.object({ type: z.literal("check"), calls: z.array(z.object(attempt)), replyTo }),
  /** Ask the runtime for this call's state; its answer comes to `replyTo` as an update. */
  z.object({
    type: z.literal("query"),
    ...attempt,
    timeoutMs: z.number(),
    ageMs: z.number().optional(),
    replyTo,
    detached,
  }),
  z.object({ type: z.literal("cancel"), ...attempt, reason: z.enum(["timed_out", "cancelled"]) }),
  /** Ask the handler of a call to stop that no replica waits for. */
  z.object({ type: z.literal("stop"), callId: z.string() }),
  /** These calls' answers are stored: acknowledge them to the runtime. */
  z.object({ type: z.literal("acknowledge"), calls: z.array(z.object(attempt)) }),
  z.object({
    type: z.literal("prepare"),
    role: z.string().optional(),
    context: jsonObject,
    caller: CallerIdentity.exactOptional(),
    timeoutMs: z.number(),
    trace,
    call: CallToJudge.exactOptional(),
  }),
  z.object({ type: z.literal("hook"), call: HookCall, timeoutMs: z.int(), trace }),
]);
export type HostRequest = z.infer<typeof HostRequest>;

/**
 * Answers `call`. `sent`: its frame has already left, at `sentAt` by the database's clock. `never`: the attempt was
 * taken and given back, so that no replica will send it.
 */
export const TakenReply = z.discriminatedUnion("taken", [
  z.object({ taken: z.literal(true), sent: z.boolean(), sentAt: z.number().optional() }),
  z.object({ taken: z.literal(false), never: z.boolean() }),
]);
export type TakenReply = z.infer<typeof TakenReply>;

/** Answers `check` with the calls that the host has. */
export const CheckReply = z.object({ waiting: z.array(z.string()), running: z.array(z.string()) });
export type CheckReply = z.infer<typeof CheckReply>;

/** Answers `query`: whether the runtime was asked. */
export const QueryReply = z.object({ asked: z.boolean() });
export type QueryReply = z.infer<typeof QueryReply>;

/** Answers `prepare`; empty when the runtime did not answer. */
export const PrepareReply = z.object({ prepared: PreparedContext.optional() });

/** Answers `hook`; empty when the runtime did not answer. */
export const HookReply = z.object({ result: HookVerdict.optional() });

/** What a host sends to the replica that waits for a call. It may arrive late, twice or not at all. */
export const HostUpdate = z.discriminatedUnion("type", [
  z.object({ type: z.literal("sent"), ...attempt, sentAt: z.number().optional() }),
  z.object({ type: z.literal("state"), ...attempt, state: z.enum(["running", "done", "unseen"]) }),
  z.object({ type: z.literal("progress"), callId: z.string(), data: json }),
  /** The host no longer has the call. `never`: the attempt was not sent and never will be. */
  z.object({ type: z.literal("released"), ...attempt, never: z.boolean() }),
  /**
   * The runtime's answer, which the host keeps until it is asked to acknowledge it. After a time the host stores it by itself.
   */
  z.object({
    type: z.literal("answered"),
    ...attempt,
    agentId: z.string(),
    instanceId: z.string(),
    outcome: CallOutcome,
    /** When the host sent the attempt, by the database's clock. */
    sentAt: z.number().exactOptional(),
  }),
  /** An attempt's outcome is stored; the store has it if it is not in the update. */
  z.object({ type: z.literal("stored"), ...attempt, outcome: CallOutcome.optional() }),
]);
export type HostUpdate = z.infer<typeof HostUpdate>;

/** A connection as its replica announces it. `opened`: it is its runtime's newest one. */
export const ConnectionUpdate = z.object({
  event: z.enum(["opened", "changed", "closed"]),
  connectionId: z.string(),
  agentId: z.string(),
  instanceId: z.string(),
  service: z.string(),
  deployment: z.string().exactOptional(),
  manifestHash: z.string(),
  concurrency: z.int().positive(),
  draining: z.boolean(),
  /** Calls queued or running on the connection. */
  calls: z.int(),
});
export type ConnectionUpdate = z.infer<typeof ConnectionUpdate>;

export const Announcement = z.object({ replicaId: z.string(), connections: z.array(ConnectionUpdate) });
export type Announcement = z.infer<typeof Announcement>;

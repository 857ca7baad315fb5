import { createHash } from "node:crypto";
import {
  CallOutcome,
  HookCall,
  HookVerdict,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  PreparedContext,
} from "@patchbay/protocol";
import { z } from "zod";

/** JSON of an outcome in characters: a larger one is read from the store by whoever waits for it. */
export const INLINE_OUTCOME = 65_536;

/** Served by the replica that holds the runtime's current link. */
export function runtimeSubject(agentId: string, instanceId: string): string {
  // A runtime chooses its instance id, with whatever characters.
  return `call.${agentId}.${createHash("sha256").update(instanceId).digest("base64url").slice(0, 22)}`;
}

/** Where a replica hears what became of its calls. */
export const replicaSubject = (replicaId: string): string => `replica.${replicaId}`;

/** Where every replica hears of links that open, drain, close, and of their load. */
export const RUNTIMES = "runtimes";

const json = z.custom<JsonValue>((value) => value !== undefined);
const jsonObject = z.custom<JsonObject>(isJsonObject);
const attempt = { callId: z.string(), attempt: z.int() };
const replyTo = z.string();

/** What the holder of a runtime's link is asked. */
export const HolderRequest = z.discriminatedUnion("type", [
  /** Take this attempt: the order itself stands in the store, whose row decides. */
  z.object({ type: z.literal("call"), ...attempt, fence: z.int(), timeoutMs: z.number(), replyTo }),
  /** Which of these calls are there? */
  z.object({ type: z.literal("held"), calls: z.array(z.object(attempt)), replyTo }),
  /** Ask the runtime what became of the call; the answer comes to `replyTo`. */
  z.object({ type: z.literal("ask"), ...attempt, timeoutMs: z.number(), replyTo }),
  z.object({ type: z.literal("cancel"), ...attempt, reason: z.enum(["timed_out", "cancelled"]) }),
  z.object({ type: z.literal("prepare"), role: z.string().optional(), context: jsonObject, timeoutMs: z.number() }),
  z.object({ type: z.literal("hook"), call: HookCall, timeoutMs: z.int() }),
]);
export type HolderRequest = z.infer<typeof HolderRequest>;

/** `sent`: its frame has left already, `sentAt` of the database's clock. `never`: the attempt was taken and given back; nobody will send it. */
export const TakenReply = z.discriminatedUnion("taken", [
  z.object({ taken: z.literal(true), sent: z.boolean(), sentAt: z.number().optional() }),
  z.object({ taken: z.literal(false), never: z.boolean() }),
]);
export type TakenReply = z.infer<typeof TakenReply>;

export const HeldReply = z.object({ waiting: z.array(z.string()), running: z.array(z.string()) });
export type HeldReply = z.infer<typeof HeldReply>;

export const AskedReply = z.object({ asked: z.boolean() });
export type AskedReply = z.infer<typeof AskedReply>;

export const PrepareReply = z.object({ prepared: PreparedContext.optional() });

export const HookReply = z.object({ result: HookVerdict.optional() });

/** What a holder tells the replica whose call it holds. */
export const HolderNews = z.discriminatedUnion("type", [
  z.object({ type: z.literal("sent"), ...attempt, sentAt: z.number().optional() }),
  z.object({ type: z.literal("state"), ...attempt, state: z.enum(["running", "done", "unseen"]) }),
  z.object({ type: z.literal("progress"), callId: z.string(), data: json }),
  /** `never`: the attempt was not sent and never will be. */
  z.object({ type: z.literal("lost"), ...attempt, never: z.boolean() }),
  /** The outcome is stored; without one here it is to be read there. */
  z.object({ type: z.literal("arrived"), callId: z.string(), outcome: CallOutcome.optional() }),
]);
export type HolderNews = z.infer<typeof HolderNews>;

/** How a link stands at its replica. `opened`: it is its runtime's newest one. */
export const LinkNews = z.object({
  event: z.enum(["opened", "changed", "closed"]),
  connectionId: z.string(),
  agentId: z.string(),
  instanceId: z.string(),
  service: z.string(),
  deployment: z.string().exactOptional(),
  manifestHash: z.string(),
  concurrency: z.int().positive(),
  draining: z.boolean(),
  /** Calls at the runtime or waiting for it. */
  calls: z.int(),
});
export type LinkNews = z.infer<typeof LinkNews>;

export const Announcement = z.object({ replicaId: z.string(), links: z.array(LinkNews) });
export type Announcement = z.infer<typeof Announcement>;

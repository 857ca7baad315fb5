import type { Effect, JsonObject, JsonValue } from "@patchbay/protocol";

/** Names of result members that are for some roles alone. Recordings leave their values out; a symbol, so that no model is told even the names. */
export const PROTECTED_MEMBERS = Symbol("protected members");

/** A function as a model is shown it; `name` is the owner's, adapters map it to what their wire takes and back. */
export interface ModelFunction {
  name: string;
  description: string;
  inputSchema: JsonObject;
  effect: Effect;
  [PROTECTED_MEMBERS]?: readonly string[];
}

/** A call as the model wrote it: `arguments` is JSON text, not yet checked; empty text means no arguments. */
export interface ModelCall {
  /** The provider's id of the call, made up by the adapter where the wire gave none. Unique within one turn. */
  id: string;
  name: string;
  arguments: string;
}

/** One call's outcome as it goes back to the model. */
export interface ModelResult {
  callId: string;
  name: string;
  /** Text the model reads: JSON of the result, or the error's text. */
  content: string;
  isError: boolean;
}

/** Opaque blocks of one assistant turn, sent back byte-exact when provider and model are the same, else left out. */
export interface Echo {
  provider: string;
  model: string;
  blocks: JsonValue;
}

/** One entry of a conversation, free of any provider's form. */
export type Message =
  /** `preface` is data told beside the query (role, context); it is no part of what the user wrote. */
  | { role: "user"; text: string; preface?: string }
  | { role: "assistant"; text: string; calls: ModelCall[]; echo?: Echo }
  /** The results of every call of the assistant turn just before, in the same order. */
  | { role: "results"; results: ModelResult[] };

/** One turn to be made, the same for every provider. */
export interface ModelRequest {
  model: string;
  system: string;
  functions: readonly ModelFunction[];
  messages: readonly Message[];
  maxTokens: number;
  temperature?: number;
  /** The last of `functions`, whose call is the answer; absent where the answer is a text. */
  respond?: ModelFunction;
  /**
   * `none`: the functions stay declared (so that caches and thinking hold), but the model must answer in text. `respond`: it must
   * call `respond`; a wire that cannot force a call leaves the choice to the model.
   */
  toolChoice: "auto" | "none" | "respond";
  /** The conversation that the turn belongs to. Not sent. */
  threadId: string;
  /** The same for all requests that begin alike (same agent, functions, role and model): a hint for prompt caches. */
  cacheKey: string;
  /** So many of the messages are of earlier runs, and are sent again with the next queries of the thread. Default 0. */
  earlierMessages?: number;
}

/**
 * Why a turn ended. `calls`: the model wants its calls run. `length`: cut by maxTokens. `refused`: the model or its filter
 * declined. `pause`: send the turn back unchanged to go on. `malformed`: the model wrote a call that its wire could not read.
 */
export type ModelStop = "stop" | "calls" | "length" | "refused" | "pause" | "context_window" | "malformed";

/** Tokens as the provider bills them; `input` includes `cachedInput` and `cacheWriteInput`, `output` includes reasoning. */
export interface TokenUsage {
  input: number;
  /** Read from the provider's cache. */
  cachedInput: number;
  /** Written to the provider's cache. Absent where the provider reports no writes. */
  cacheWriteInput?: number;
  /** The part of `cacheWriteInput` that Claude keeps for an hour instead of 5 minutes. */
  hourCacheWriteInput?: number;
  output: number;
}

/** One whole answer of a model: text, reasoning and calls. */
export interface ModelTurn {
  text: string;
  /** Reasoning blocks in order, empty ones left out. */
  thoughts: string[];
  calls: ModelCall[];
  /** True when the turn was cut inside a call: nothing of it may be run. */
  cutCall?: boolean;
  stop: ModelStop;
  usage: TokenUsage;
  /** The model that answered, as the provider names it. */
  model: string;
  echo?: Echo;
  /** Why the model refused, in its own words; only with `stop: "refused"`. */
  refusal?: string;
  /** What was asked for and could not be honoured, in words for the caller. */
  warnings?: string[];
}

/** What an attempt used that ended without its turn. */
export interface PartialUsage {
  /** The provider's last counts; 0 where it gave none. */
  counted: TokenUsage;
  /** Bytes of text, reasoning and arguments that arrived after its last count of output. */
  uncountedBytes: number;
}

/** What a turn gives while it is made, and at its end. */
export type ModelEvent =
  | { type: "textDelta"; text: string }
  | { type: "thoughtDelta"; text: string }
  /** Bytes of the answer arrived that show nothing: a piece of a call's arguments, hidden reasoning, a ping. */
  | { type: "activity" }
  /** Comes just before the error of an attempt whose model had begun to answer: the provider bills that part. */
  | ({ type: "cut" } & PartialUsage)
  /** Always the last event of a turn, and given only when the wire's own terminal event arrived. */
  | { type: "end"; turn: ModelTurn };

/** What the loop's user message says when the caller asked for a plan first. */
export const PLAN_REQUEST =
  "Before acting, write a short plan: which functions you would call, in what order and why. Do not call anything yet.";

/** The user message that follows a plan: the query to act on stands before the plan. */
export const PLAN_GO_AHEAD = "Carry out the plan now.";

/** Asks one model for one turn. */
export interface ModelProvider {
  readonly name: string;
  /**
   * Streams one turn. Throws `ModelError` for everything the provider or the network did wrong (a stream that ends without
   * its terminal event included) and `signal.reason` when aborted, both after a `cut` where one is due. Never retries.
   */
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
}

/** Why a model could not be asked, in words that all providers share. */
export type ModelErrorKind =
  | "rate_limited"
  | "quota"
  | "overloaded"
  | "authentication"
  | "unknown_model"
  | "bad_request"
  | "context_window"
  | "network"
  | "truncated"
  | "malformed"
  | "server";

/** A failed attempt at a turn. `message` is for the log; clients are told the kind alone. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly kind: ModelErrorKind;
  readonly retryAfterMs: number | undefined;

  constructor(kind: ModelErrorKind, message: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super(message, options);
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
  }

  /** True when the same request may succeed a moment later. */
  get retryable(): boolean {
    return ["rate_limited", "overloaded", "network", "truncated", "server"].includes(this.kind);
  }
}

/** A model that a run asks. */
export interface ChosenModel {
  provider: ModelProvider;
  model: string;
  /** The model's context window; undefined where it is not known. */
  contextTokens?: number | undefined;
  /**
   * Price in micro-USD (one million to the dollar), rounded up; undefined when no price is known for the model. Organisations
   * that pay cannot use such a model.
   */
  cost(usage: TokenUsage): number | undefined;
}

/** The providers that are configured. */
export interface ModelCatalog {
  /** Chooses by name, or the default. `missing` is the name of a provider without a key ("none" when there is no default). */
  choose(wanted?: { provider?: string; model?: string }): ChosenModel | { missing: string };
}

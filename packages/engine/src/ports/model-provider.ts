import type { AgentSettings, Effect, FlowLabel, Reasoning } from "@patchbay/protocol";
import { PROVIDERS } from "@patchbay/protocol/providers";
import { type JsonObject, type JsonValue, present } from "@patchbay/kit";

/**
 * Restricted field names in a function's results. Recordings omit their values. A symbol, so that adapters cannot send
 * the names to a model.
 */
export const RESTRICTED_FIELDS = Symbol("restricted fields");

/**
 * The service's example query texts for the caller's role, for the offline model. A symbol, so that adapters cannot
 * send them.
 */
export const EXAMPLE_QUERIES = Symbol("example queries");

/** A function as a model sees it. `name` is the owner's; adapters map it to a name that their wire accepts and back. */
export interface ModelFunction {
  name: string;
  description: string;
  inputSchema: JsonObject;
  effect: Effect;
  /** Valid arguments, for models whose wire has a place for them. */
  examples?: readonly JsonObject[];
  [RESTRICTED_FIELDS]?: readonly string[];
}

/** A call as the model wrote it. `arguments` is unchecked JSON text; an empty text means no arguments. */
export interface ModelCall {
  /** The provider's call id, or one that the adapter made when the wire has none. Unique within one turn. */
  id: string;
  name: string;
  arguments: string;
}

/** A call's outcome for the model. */
export interface ModelResult {
  callId: string;
  name: string;
  /** Text the model reads: JSON of the result, or the error's text. */
  content: string;
  isError: boolean;
}

/**
 * Opaque blocks from one assistant turn. Sent back unchanged to the same provider and model, and omitted for others.
 */
export interface Echo {
  provider: string;
  model: string;
  blocks: JsonValue;
}

/** One message in a conversation, the same for every provider. */
export type Message =
  /**
   * `preface` is data in addition to the user's text: role and context. `labels`, in a run's history: what it has received. Not sent.
   */
  | { role: "user"; text: string; preface?: string; labels?: readonly FlowLabel[] }
  | { role: "assistant"; text: string; calls: ModelCall[]; echo?: Echo }
  /** The results for all calls in the assistant message before, in the same order. */
  | { role: "results"; results: ModelResult[] };

/** A request for one turn, the same for every provider. */
export interface ModelRequest {
  model: string;
  system: string;
  functions: readonly ModelFunction[];
  messages: readonly Message[];
  maxTokens: number;
  temperature?: number;
  /** Adapters whose model lacks the level send the nearest one, with a warning. */
  reasoning?: Reasoning;
  /** The last of `functions`, whose call is the answer; absent when the answer is a text. */
  respond?: ModelFunction;
  /**
   * `none`: the model must answer in text; the functions stay declared, so that prompt caches and reasoning blocks stay valid.
   * `respond`: the model must call `respond`; adapters whose wire cannot force a call leave the choice to the model.
   */
  toolChoice: "auto" | "none" | "respond";
  /** The thread that the turn belongs to. Not sent. */
  threadId: string;
  /** A hint for prompt caches: the same for requests with the same agent, functions, role and model, which begin with the same text. */
  cacheKey: string;
  /** Number of messages from earlier runs, which the thread's next queries send again. Default 0. */
  earlierMessages?: number;
  [EXAMPLE_QUERIES]?: readonly string[];
}

/**
 * Why a turn ended. `calls`: the model asks for calls. `length`: cut by maxTokens. `refused`: the model or its filter declined.
 * `pause`: send the turn back unchanged to continue. `malformed`: the model wrote a call that its wire could not read.
 */
export type ModelStop = "stop" | "calls" | "length" | "refused" | "pause" | "context_window" | "malformed";

/** Tokens as the provider bills them; `input` includes `cachedInput` and `cacheWriteInput`, `output` includes reasoning. */
export interface TokenUsage {
  input: number;
  /** Read from the provider's cache. */
  cachedInput: number;
  /** Written to the provider's cache. Absent when the provider does not report writes. */
  cacheWriteInput?: number;
  /** The part of `cacheWriteInput` that Claude keeps for an hour instead of 5 minutes. */
  hourCacheWriteInput?: number;
  output: number;
  /** The part of `output` that was reasoning. Absent when the provider reports none. */
  reasoning?: number;
}

/** A model's whole answer: text, reasoning and calls. */
export interface ModelTurn {
  text: string;
  /** Reasoning blocks in order, without empty ones. */
  thoughts: string[];
  calls: ModelCall[];
  /** True when the turn was cut inside a call: none of its calls may run. */
  cutCall?: boolean;
  stop: ModelStop;
  usage: TokenUsage;
  /** The model that answered, as the provider names it. */
  model: string;
  echo?: Echo;
  /** Why the model refused, in its own words; only with `stop: "refused"`. */
  refusal?: string;
  /** Requested options that could not be applied, as texts for the API caller. */
  warnings?: string[];
}

/** Usage for an attempt that ended without a turn. */
export interface PartialUsage {
  /** The last counts that the provider sent; 0 when it sent none. */
  counted: TokenUsage;
  /** Bytes of text, reasoning and arguments that arrived after the last output count. */
  uncountedBytes: number;
}

/** A piece of a turn's text or reasoning. */
export type ModelDelta = { type: "textDelta"; text: string } | { type: "thoughtDelta"; text: string };

/** A turn's events while it is streamed. */
export type ModelEvent =
  | ModelDelta
  /**
   * The deltas that arrived together, which costs less than one event for each. Empty if only hidden bytes arrived:
   * arguments, hidden reasoning, a ping. Shows that the connection works.
   */
  | { type: "deltas"; deltas: readonly ModelDelta[] }
  /** Precedes the error of an attempt whose model had begun to answer: the provider bills that part. */
  | ({ type: "cut" } & PartialUsage)
  /** A turn's last event. Adapters yield it only after the wire's terminal event. */
  | { type: "end"; turn: ModelTurn };

/** The user message that asks for a plan. */
export const PLAN_REQUEST =
  "Before acting, write a short plan: which functions you would call, in what order and why. Do not call anything yet.";

/** The user message that follows a plan. */
export const PLAN_GO_AHEAD = "Carry out the plan now.";

/** An adapter for one model provider. */
export interface ModelProvider {
  readonly name: string;
  /** The provider that queries name, for an endpoint with a name of its own. Default: `name`. */
  readonly family?: string;
  /**
   * Streams one turn. Throws `ModelError` for every provider or network failure, including a stream that ends without
   * its terminal event, and `signal.reason` when aborted; both after a `cut` when the model had begun to answer. Never
   * retries.
   */
  stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<ModelEvent>;
}

/** Why an attempt failed, the same for every provider. */
export type ModelErrorKind =
  | "rate_limited"
  | "quota"
  | "overloaded"
  | "authentication"
  | "unknown_model"
  | "bad_request"
  | "context_window"
  /** The request was not sent: it has more functions than the model takes. `message` is public. */
  | "too_many_functions"
  | "network"
  /** The request was not sent: this process has no free file descriptor. */
  | "out_of_files"
  | "truncated"
  /** The provider ended the turn for a reason that its wire does not document. */
  | "unknown_end"
  | "malformed"
  /** The answer is not an event stream: another program answered, or one that does not stream. */
  | "unreadable"
  /** A fault of this service, or in its configuration. */
  | "internal"
  | "server";

/** A failed attempt at a turn. `message` is only for the log; clients see a text for the kind. */
export class ModelError extends Error {
  override readonly name = "ModelError";
  readonly kind: ModelErrorKind;
  readonly retryAfterMs: number | undefined;
  /** The response's HTTP status; undefined without a response, or when its stream failed. */
  readonly status: number | undefined;

  constructor(
    kind: ModelErrorKind,
    message: string,
    options?: ErrorOptions & { retryAfterMs?: number; status?: number },
  ) {
    super(message, options);
    this.kind = kind;
    this.retryAfterMs = options?.retryAfterMs;
    this.status = options?.status;
  }

  /** True when the same request may succeed later. */
  get retryable(): boolean {
    return ["rate_limited", "overloaded", "network", "out_of_files", "truncated", "unknown_end", "server"].includes(
      this.kind,
    );
  }
}

/** Why no model was chosen. */
export interface NoModel {
  /** The provider or endpoint that the organisation does not have, or whose `models` lack the wanted one; "none" without a default. */
  missing: string;
  /** The models that the endpoint offers. */
  models?: string[];
}

/** The reason as a sentence for callers, without its full stop. */
export function whyMissing({ missing, models }: NoModel): string {
  if (models)
    return `Endpoint ${missing} offers only ${models.join(", ")}. Choose one of these models, or have the operator add another (--providers)`;
  if (missing === "none") return "No model provider is configured";
  if (Object.hasOwn(PROVIDERS, missing)) return `Provider ${missing} is not configured`;
  return `Endpoint ${missing} is not configured for this organisation. Choose another provider in the agent's settings, or have the operator add the endpoint (--providers)`;
}

/** A provider's model. */
export interface ChosenModel {
  provider: ModelProvider;
  model: string;
  /** The model's context window; undefined when unknown. */
  contextTokens?: number | undefined;
  /** The most functions in a request; undefined when unknown. */
  maxFunctions?: number | undefined;
  /** For a fallback model with its own setting. Default: the run's. */
  reasoning?: Reasoning | undefined;
  /**
   * Price in micro-USD (one million to the dollar), rounded up; undefined when the model has no known price. Charged organisations
   * cannot use such a model.
   */
  cost(usage: TokenUsage): number | undefined;
}

/** What decides an agent's models. */
export type ModelUser = { orgId?: string; settings?: AgentSettings };

/** The models that an agent's runs ask, in this order. */
export const agentModels = ({ orgId, settings = {} }: ModelUser, { choose }: ModelCatalog): (ChosenModel | NoModel)[] =>
  [settings, ...(settings.fallback ?? [])].map(({ provider, model }) => choose(present({ provider, model, orgId })));

/** A price in USD per million tokens. */
export interface TokenPrice {
  input: number;
  /** Absent when cached input costs as much as other input. */
  cachedInput?: number | undefined;
  output: number;
}

/** A configured provider that queries can choose. */
export interface ConfiguredProvider {
  /** Of the endpoint, where it has one. */
  name: string;
  /** The provider that queries name. */
  family: string;
  /** Members of requests that its server refuses, and that are left out. */
  leftOut?: string[];
  /** The model for queries that name only the provider. */
  model: string;
  /** Its models with a known price, by name. A provider may have others. */
  priced: { model: string; price: TokenPrice }[];
}

/** Lists what queries can choose, those of one organisation or of any: neither the offline model nor the embedding program's own. */
export interface ProviderList {
  providers(orgId?: string): ConfiguredProvider[];
}

/** The configured providers. */
export interface ModelCatalog {
  /** Chooses by name, or the default, of what the organisation may use. */
  choose(wanted?: { provider?: string; model?: string; orgId?: string }): ChosenModel | NoModel;
}

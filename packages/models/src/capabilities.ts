import { WIRE_NAME_CHARS } from "@patchbay/protocol";

/** How a Claude model is asked to think, and whether it takes a temperature. */
export interface AnthropicCapabilities {
  /** `budget`: an explicit token count (older models). */
  thinking: "adaptive" | "budget" | "none";
  temperature: boolean;
  /** Takes `strict` and `input_examples` on a tool. */
  strict: boolean;
}

export interface OpenaiCapabilities {
  /** Takes a `reasoning` setting, `developer` messages and `max_completion_tokens`. */
  reasoning: boolean;
  temperature: boolean;
  /** In Chat Completions these models take functions only when they do not reason. */
  chatWithoutReasoning: boolean;
  /** A model from OpenAI itself: accepts members that compatible servers may refuse. */
  own: boolean;
}

export interface GeminiCapabilities {
  thoughts: boolean;
  /** Takes the calling mode VALIDATED. */
  strict: boolean;
  /** The first call in each step must be sent back with its signature. */
  signatures: boolean;
  temperature: boolean;
}

/**
 * Context windows in tokens, as of 2026-11-22: the data from @pydantic/genai-prices 0.1.8 (MIT), and the three
 * providers' model pages for models missing there. Where a family's pages differ by less than a tenth, the smaller
 * value counts.
 */
const WINDOWS: Table<number> = [
  [/^claude-(2|instant|3|haiku-4|(opus|sonnet)-4(-[015]\b|-\d{8}|$))/, 200_000],
  [/^claude-(fable|opus|sonnet|haiku)-/, 1_000_000],
  [/^gpt-3\.5/, 16_385],
  [/^gpt-4(-0[36]|-32k|$)/, 8_192],
  [/^(gpt-4o|gpt-4-|chatgpt-4o|gpt-5-chat|gpt-5\.3$|o1-(mini|preview)|gpt-oss)/, 128_000],
  [/^(gpt-4\.1|gpt-5\.[4-6](?!-(mini|nano))|gpt-6)/, 1_000_000],
  [/^gpt-5/, 400_000],
  [/^(o\d|codex-mini)/, 200_000],
  [/^gemini-(1\.5|2|3|4-argon)/, 1_000_000],
];

export const contextTokens = (model: string) => lookUp<number | undefined>(WINDOWS, model, undefined);

/** The most that providers take in a request. Texts and names are made to fit all of them. */
export const PROVIDER_LIMITS = {
  /** OpenAI publishes a number (function calling guide, 2026-11); Anthropic and Google do not. */
  functions: [[/^(gpt-(?!oss)|chatgpt-|codex-|o\d)/, 128]] as Table<number>,
  /** OpenAI's for the description of a function. */
  descriptionUnits: 1_024,
  /** That of OpenAI and Gemini; Claude takes 128. */
  nameChars: WIRE_NAME_CHARS,
  /** Mistral takes exactly nine letters and digits, Chat Completions up to 40, Responses up to 64. */
  callIdChars: 9,
};

export const mostFunctions = (model: string) => lookUp<number | undefined>(PROVIDER_LIMITS.functions, model, undefined);

/** A description in two parts, of which OpenAI takes the first as such, and the rest as that of the parameters. */
export function splitDescription(text: string): [head: string, rest?: string] {
  const { descriptionUnits } = PROVIDER_LIMITS;
  if (text.length <= descriptionUnits) return [text];
  // At the end of a word, and not within a character.
  const head = text.slice(0, descriptionUnits).replace(/\s+\S*$|[\uD800-\uDBFF]$/, "");
  return [head, text.slice(head.length).trimStart()];
}

/**
 * The first match counts; an unmatched name counts as the newest kind. Gateway prefixes (`vendor/model`) are ignored.
 */
export type Table<Capabilities> = readonly (readonly [RegExp, Capabilities])[];

export function lookUp<Capabilities>(table: Table<Capabilities>, model: string, newest: Capabilities): Capabilities {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return table.find(([pattern]) => pattern.test(name))?.[1] ?? newest;
}

const ANTHROPIC: Table<AnthropicCapabilities> = [
  [/^claude-(2|instant|3-5|3-(opus|sonnet|haiku))/, { thinking: "none", temperature: true, strict: false }],
  [/^claude-(3-7|(opus|sonnet|haiku)-4(-[01]\b|-\d{8}|$))/, { thinking: "budget", temperature: true, strict: false }],
  [/^claude-(opus|sonnet|haiku)-4-5/, { thinking: "budget", temperature: true, strict: true }],
  [/^claude-(opus|sonnet|haiku)-4-6/, { thinking: "adaptive", temperature: true, strict: true }],
];

export const anthropicCapabilities = (model: string) =>
  lookUp<AnthropicCapabilities>(ANTHROPIC, model, { thinking: "adaptive", temperature: false, strict: true });

const PLAIN: OpenaiCapabilities = { reasoning: false, temperature: true, chatWithoutReasoning: false, own: true };
const REASONING: OpenaiCapabilities = { reasoning: true, temperature: false, chatWithoutReasoning: false, own: true };

const OPENAI: Table<OpenaiCapabilities> = [
  [/^(gpt-3|gpt-4|chatgpt-4o|gpt-5-chat)/, PLAIN],
  [/^gpt-6(-sol|-luna|\.\d+-(terra|luna))/, { ...REASONING, chatWithoutReasoning: true }],
  [/^(o\d|gpt-\d|codex)/, REASONING],
];

/**
 * `api` decides for unknown names: on Chat Completions they belong to compatible servers, elsewhere to OpenAI's newest
 * models.
 */
export function openaiCapabilities(model: string, api: "responses" | "chat"): OpenaiCapabilities {
  return lookUp(OPENAI, model, api === "chat" ? { ...PLAIN, own: false } : REASONING);
}

const GEMINI: Table<GeminiCapabilities> = [
  [/^gemini-(1|2\.0)/, { thoughts: false, strict: false, signatures: false, temperature: true }],
  [/^gemini-2/, { thoughts: true, strict: true, signatures: false, temperature: true }],
  [/^gemini-4-argon/, { thoughts: true, strict: true, signatures: true, temperature: false }],
];

export const geminiCapabilities = (model: string) =>
  lookUp<GeminiCapabilities>(GEMINI, model, { thoughts: true, strict: true, signatures: true, temperature: true });

import { type Reasoning, REASONING } from "@patchbay/protocol";
import type { ModelRequest } from "@patchbay/engine/ports/model-provider";
import { lookUp, type Table } from "./capabilities.ts";

/** What the wire calls each level: an effort, or a number of tokens. A model lacks the levels that are absent. */
type Levels = { readonly [Level in Reasoning]?: string | number };

const EFFORTS: Levels = { low: "low", medium: "medium", high: "high", max: "high" };
const XHIGH: Levels = { ...EFFORTS, max: "xhigh" };
const CLAUDE: Levels = { ...EFFORTS, max: "max" };
const BUDGETS: Levels = { low: 1_024, medium: 8_192, high: 24_576 };

/** Every model that no other line names. */
const NEWEST = /./;

/**
 * The levels of each model, as of 2026-11-29: https://platform.claude.com/docs/en/build-with-claude/effort and thinking,
 * https://developers.openai.com/api/docs/guides/reasoning, https://ai.google.dev/gemini-api/docs/thinking.
 */
const LEVELS = {
  anthropic: [
    [/^claude-(2|instant|3-5|3-(opus|sonnet|haiku))/, {}],
    [/^claude-(3-7|(opus|sonnet|haiku)-4(-[015]\b|-\d{8}|$))/, { ...BUDGETS, none: 0, max: 32_000 }],
    [/^claude-(opus-4-[6-8]|sonnet-4-6|(opus|sonnet)-5(-\d{8}|$)|haiku-5-5)/, { ...CLAUDE, none: "disabled" }],
    // They cannot be asked not to think.
    [NEWEST, CLAUDE],
  ],
  responses: [
    [/^(gpt-3|gpt-4|chatgpt-4o|gpt-5-chat|o1-(mini|preview))/, {}],
    [/^gpt-5(\.\d)?-pro/, { high: "high", max: "high" }],
    [/^(o\d|codex|gpt-5(-|$)|gpt-5\.1-codex(-mini|$))/, EFFORTS],
    [/^gpt-(5\.\d-codex|6-astra|6\.1-sol)/, XHIGH],
    [/^gpt-5\.1/, { ...EFFORTS, none: "none" }],
    [NEWEST, { ...XHIGH, none: "none" }],
  ],
  /** Models that take functions on this wire only while they do not reason. */
  idle: [[NEWEST, { none: "none" }]],
  /** Servers compatible with OpenAI, whose models are unknown. */
  compatible: [[NEWEST, { ...EFFORTS, none: "none" }]],
  gemini: [
    [/^gemini-(1|2\.0)/, {}],
    [/^gemini-2\.5-pro/, { ...BUDGETS, max: 32_768 }],
    [/^gemini-2/, { ...BUDGETS, none: 0, max: 24_576 }],
    [/^gemini-3-pro/, { low: "low", high: "high", max: "high" }],
    [/^gemini-3[\d.]*-flash/, { ...EFFORTS, none: "minimal" }],
    [NEWEST, EFFORTS],
  ],
} satisfies Record<string, Table<Levels>>;

/**
 * The requested level in the wire's words: the next higher one where the model lacks it, else the next lower one.
 * Undefined without a request, and for a model without levels. Warns when it is not the requested one.
 */
export function settleReasoning(
  { model, reasoning }: Pick<ModelRequest, "model" | "reasoning">,
  wire: keyof typeof LEVELS,
): { level?: string | number; warnings: string[] } {
  if (reasoning === undefined) return { warnings: [] };
  const levels = lookUp<Levels>(LEVELS[wire], model, {});
  const at = REASONING.indexOf(reasoning);
  const nearest = [...REASONING.slice(at), ...REASONING.slice(0, at).toReversed()];
  const chosen = nearest.find((level) => levels[level] !== undefined);
  if (chosen === undefined) {
    const warning = `The model ${model} has no reasoning, so llmConfig.reasoning was not sent.`;
    return { warnings: reasoning === "none" ? [] : [warning] };
  }
  const where = wire === "idle" ? " together with functions" : "";
  const warning = `The model ${model} has no reasoning level ${reasoning}${where}, so ${chosen} was sent.`;
  return { level: levels[chosen]!, warnings: chosen === reasoning ? [] : [warning] };
}

import type { TokenUsage } from "../ports/model-provider.ts";
import { checkPrices, type ModelPrice, type ModelPrices } from "./price-file.ts";
import shipped from "./prices.json" with { type: "json" };

type Rates = Omit<ModelPrice, "above" | "from">;

export interface Prices {
  /** Micro-USD of one turn, rounded up; undefined for a model without a known price. */
  cost(model: string, usage: TokenUsage): number | undefined;
}

/**
 * The shipped prices with the operator's on top, each in place of the shipped price of its model. Throws when they have faults. A
 * name has the price of the model that it means: a gateway's prefix (`openai/`, `models/`), `-latest` and a date at the end
 * (`-20251001`, `-2025-04-14`) change nothing.
 */
export function createPrices(own: ModelPrices = {}, { now = Date.now }: { now?: () => number } = {}): Prices {
  const models = new Map<string, ModelPrice>(Object.entries({ ...shipped.models, ...checkPrices(own) }));

  return {
    cost(model, usage) {
      const price = models.get(model) ?? models.get(pricedName(model)) ?? models.get(undated(pricedName(model)));
      return price && costOf(ratesOf(price, usage, now()), cacheWritesOf(model), usage);
    },
  };
}

const pricedName = (model: string): string => model.slice(model.lastIndexOf("/") + 1).replace(/-latest$/, "");
const undated = (model: string): string => model.replace(/-\d{4}-?\d{2}-?\d{2}$/, "");

function ratesOf(price: ModelPrice, { input }: TokenUsage, at: number): Rates {
  const today = price.from && at >= Date.parse(price.from.date) ? price.from : price;
  return today.above && input > today.above.inputTokens ? today.above : today;
}

/**
 * What a write to the cache costs as a multiple of input, where a price does not say: 1.25 at Claude (2 for an hour) and at
 * OpenAI's models from gpt-5.6 on, 1 at all others. Sources: the pages on prompt caching of both, November 2026.
 */
function cacheWritesOf(model: string): { usual: number; hour: number } {
  if (/\bclaude-/.test(model)) return { usual: 1.25, hour: 2 };
  const usual = /^gpt-(5\.[6-9]|5\.\d\d|[6-9]|\d\d)/.test(pricedName(model)) ? 1.25 : 1;
  return { usual, hour: usual };
}

/** Counts that exceed the input they are parts of are cut. */
function costOf(rate: Rates, writes: { usual: number; hour: number }, usage: TokenUsage): number {
  const { input, cachedInput, cacheWriteInput = 0, hourCacheWriteInput = 0, output } = usage;
  const cached = Math.min(cachedInput, input);
  const written = Math.min(cacheWriteInput, input - cached);
  const hour = Math.min(hourCacheWriteInput, written);
  const micros =
    (input - cached - written) * rate.input +
    cached * (rate.cachedInput ?? rate.input) +
    (written - hour) * (rate.cacheWriteInput ?? writes.usual * rate.input) +
    hour * (rate.hourCacheWriteInput ?? writes.hour * rate.input) +
    output * rate.output;
  // Sums of decimal fractions end a hair above the whole number they mean.
  return Math.ceil(micros - 1e-6);
}

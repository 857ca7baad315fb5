import { z } from "zod";
import type { TokenUsage } from "../ports/model-provider.ts";
import shipped from "./prices.json" with { type: "json" };

const dollars = z.number().min(0);
const rates = {
  input: dollars,
  cachedInput: dollars.optional(),
  /** Of input that the provider writes to its cache. */
  cacheWriteInput: dollars.optional(),
  /** Of input that Claude writes to its cache for an hour. */
  hourCacheWriteInput: dollars.optional(),
  output: dollars,
};

/** USD per million tokens, which is micro-USD per token. */
const ModelPrice = z.object({
  ...rates,
  /** For a turn whose whole input is above this many tokens. */
  above: z.object({ inputTokens: z.int().min(1), ...rates }).optional(),
  /** From this day on (UTC). */
  from: z.object({ date: z.iso.date(), ...rates }).optional(),
});

/** The form of the shipped file; an override has the same, and needs to name only what it changes. */
const PriceFile = z.object({ models: z.record(z.string(), ModelPrice) });

/** A file of public model prices in litellm's form: USD per token. */
const LitellmFile = z.record(
  z.string(),
  z.looseObject({
    input_cost_per_token: dollars.optional(),
    output_cost_per_token: dollars.optional(),
    cache_read_input_token_cost: dollars.optional(),
    cache_creation_input_token_cost: dollars.optional(),
    cache_creation_input_token_cost_above_1hr: dollars.optional(),
  }),
);

type ModelPrice = z.infer<typeof ModelPrice>;
type Rates = Omit<ModelPrice, "above" | "from">;

export interface Prices {
  /** Micro-USD of one turn, rounded up; undefined for a model without a known price. */
  cost(model: string, usage: TokenUsage): number | undefined;
}

/**
 * The shipped prices with an owner's own on top (parsed JSON of the same form, or litellm's). Throws when that is of neither form.
 * A name has the price of the model that it means: a gateway's prefix (`openai/`, `models/`), `-latest` and a date at the end
 * (`-20251001`, `-2025-04-14`) change nothing.
 */
export function createPrices(override?: unknown, { now = Date.now }: { now?: () => number } = {}): Prices {
  const models = new Map(Object.entries(PriceFile.parse(shipped).models));
  for (const [model, price] of Object.entries(override === undefined ? {} : readOverride(override)))
    models.set(model, price);

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
  return price.above && input > price.above.inputTokens ? price.above : today;
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

function readOverride(file: unknown): Record<string, ModelPrice> {
  const own = PriceFile.safeParse(file);
  if (own.success) return own.data.models;
  const litellm = LitellmFile.safeParse(file);
  if (!litellm.success || "models" in litellm.data)
    throw new Error(
      `The price file cannot be read: ${z.prettifyError(own.error)}. It needs the form of the shipped prices.json, ` +
        `{ "models": { "<model>": { "input": 1, "cachedInput": 0.1, "output": 5 } } }, in USD per million tokens.`,
    );
  return Object.fromEntries(
    Object.entries(litellm.data).flatMap(([name, entry]) => {
      const { input_cost_per_token: input, output_cost_per_token: output } = entry;
      if (input === undefined || output === undefined) return [];
      const price: ModelPrice = { input: input * 1e6, output: output * 1e6 };
      const { cache_read_input_token_cost: cached, cache_creation_input_token_cost: written } = entry;
      const hour = entry.cache_creation_input_token_cost_above_1hr;
      if (cached !== undefined) price.cachedInput = cached * 1e6;
      if (written !== undefined) price.cacheWriteInput = written * 1e6;
      if (hour !== undefined) price.hourCacheWriteInput = hour * 1e6;
      return [[name.slice(name.lastIndexOf("/") + 1), price]];
    }),
  );
}

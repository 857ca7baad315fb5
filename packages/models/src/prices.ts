import { wallMs } from "@patchbay/kit/time";
import type { ConfiguredProvider, TokenUsage } from "@patchbay/engine/ports/model-provider";
import shipped from "./prices.json" with { type: "json" };
import { isJsonObject, parseJson } from "@patchbay/kit";
import { MODEL_NAME } from "@patchbay/protocol";
import { z } from "zod";

/** USD per million tokens, which is micro-USD per token. */
interface Rates {
  input: number;
  /** For input that the provider reads from its cache. Default: as `input`. */
  cachedInput?: number | undefined;
  /**
   * For input that the provider writes to its cache. Default: 1.25 times `input` for Claude, and for OpenAI from
   * gpt-5.6 on; else `input`.
   */
  cacheWriteInput?: number | undefined;
  /** For input that Claude writes to its cache for an hour. Default: twice `input`. */
  hourCacheWriteInput?: number | undefined;
  output: number;
}

interface DatedRates extends Rates {
  /** Rates for a turn whose whole input exceeds this many tokens. */
  above?: (Rates & { inputTokens: number }) | undefined;
}

/** One model's price. */
export interface ModelPrice extends DatedRates {
  /** From this day on (UTC), replaces all rates above. */
  from?: (DatedRates & { date: string }) | undefined;
}

/**
 * The shipped prices, with the operator's replacing those for the same models. Throws on faulty prices. A gateway's
 * prefix (`openai/`, `models/`), `-latest` and a date at the end (`-20251001`, `-2025-04-14`) do not change a model's
 * price.
 */
export function createPrices(own: ModelPrices = {}, { now = wallMs }: { now?: () => number } = {}) {
  const models = new Map<string, ModelPrice>(Object.entries({ ...shipped.models, ...checkPrices(own) }));

  return {
    /** One turn's cost in micro-USD, rounded up; undefined for a model without a known price. */
    cost(model: string, usage: TokenUsage): number | undefined {
      const price = models.get(model) ?? models.get(pricedName(model)) ?? models.get(undated(pricedName(model)));
      return price && costOf(ratesOf(price, usage, now()), cacheWritesOf(model), usage);
    },
    /** The priced models' names. */
    models: (): string[] => [...models.keys()],
    /** The price for input below the `above` limit; undefined for an unpriced model. */
    today(model: string): ConfiguredProvider["priced"][number] | undefined {
      const price = models.get(model);
      if (!price) return undefined;
      const { input, cachedInput, output } = ratesOf(price, { input: 0 }, now());
      return { model, price: { input, cachedInput, output } };
    },
  };
}

const pricedName = (model: string): string => model.slice(model.lastIndexOf("/") + 1).replace(/-latest$/, "");
const undated = (model: string): string => model.replace(/-\d{4}-?\d{2}-?\d{2}$/, "");

function ratesOf(price: ModelPrice, { input }: Pick<TokenUsage, "input">, at: number): Rates {
  const today = price.from && at >= Date.parse(price.from.date) ? price.from : price;
  return today.above && input > today.above.inputTokens ? today.above : today;
}

/**
 * The cost of a cache write relative to input, where a price omits it: 1.25 at Claude (2 for an hour) and at OpenAI's
 * models from gpt-5.6 on, 1 at all others. Sources: both prompt caching pages, November 2026.
 */
function cacheWritesOf(model: string): { usual: number; hour: number } {
  if (/\bclaude-/.test(model)) return { usual: 1.25, hour: 2 };
  const usual = /^gpt-(5\.[6-9]|5\.\d\d|[6-9]|\d\d)/.test(pricedName(model)) ? 1.25 : 1;
  return { usual, hour: usual };
}

/** Cuts counts that exceed the input they belong to. */
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
  // Sums of decimal fractions can exceed the exact value by a hair.
  return Math.ceil(micros - 1e-6);
}

const dollars = z.number("must be a number of USD per million tokens").min(0, "must not be negative");
const RATES = {
  input: dollars,
  cachedInput: dollars.optional(),
  cacheWriteInput: dollars.optional(),
  hourCacheWriteInput: dollars.optional(),
  output: dollars,
};

const PRICE = { ...RATES, above: z.strictObject({ inputTokens: z.int().min(1), ...RATES }).optional() };

export const ModelPrice: z.ZodType<ModelPrice> = z
  .strictObject({
    ...PRICE,
    from: z.strictObject({ date: z.iso.date("must be a date such as 2026-12-01"), ...PRICE }).optional(),
  })
  // Otherwise the price for long inputs after that day would be a guess.
  .refine(({ above, from }) => !above || !from || from.above, {
    path: ["from", "above"],
    message: "is missing: the price has `above`, so the price from that day on needs its own",
  });

const ModelPrices = z.record(z.string().regex(MODEL_NAME), ModelPrice);
/** Prices by model name. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** The format for the shipped file and an operator's. */
const PriceFile = z.strictObject({ asOf: z.string().optional(), source: z.string().optional(), models: ModelPrices });

/** Public model prices in litellm's format: USD per token. */
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

/** The prices in a price file's text. Throws an error that names each fault with its model and member. */
export function parsePrices(text: string): ModelPrices {
  const parsed = parseJson(text);
  if (!parsed.ok) throw new Error(`${FORM} This one ${parsed.message}.`);
  const file = parsed.value;
  if (isJsonObject(file) && "models" in file) return checked(PriceFile, file).models;
  const prices = litellmPrices(checked(LitellmFile, file));
  if (Object.keys(prices).length === 0) throw new Error(`${FORM} This one has no "models".`);
  return prices;
}

/** Checks prices that a program gives, which may not be written in TypeScript. Throws as `parsePrices` does. */
const checkPrices = (prices: ModelPrices): ModelPrices => checked(PriceFile, { models: prices }).models;

function checked<T>(form: z.ZodType<T>, file: unknown): T {
  const parsed = form.safeParse(file);
  if (parsed.success) return parsed.data;
  throw new Error(`${FORM} ${parsed.error.issues.map(faultOf).join("; ")}.`);
}

const FORM =
  'A price file is JSON like {"models": {"llama-4": {"input": 0.5, "output": 2}}}, in USD per million tokens.';

function faultOf({ code, path, message, ...issue }: z.core.$ZodIssue): string {
  const [model, ...members] = path[0] === "models" ? path.slice(1) : path;
  if (model === undefined) return `The file: ${message}`;
  if (code === "invalid_key") return `${JSON.stringify(model)} is not a model name`;
  const unknown = "keys" in issue && Array.isArray(issue.keys) ? issue.keys.map(String) : [];
  if (unknown.length > 0)
    return `Model ${String(model)} has unknown members: ${[...members, unknown.join(", ")].join(".")}`;
  return `Model ${String(model)}${members.length > 0 ? `, ${members.join(".")}` : ""}: ${message}`;
}

/**
 * Each price under its full name, and also without the gateway prefix unless the file or the shipped prices have that
 * name: a gateway and the provider may charge different prices.
 */
function litellmPrices(file: z.infer<typeof LitellmFile>): Record<string, ModelPrice> {
  const prices: Record<string, ModelPrice> = {};
  for (const [name, entry] of Object.entries(file)) {
    const { input_cost_per_token: input, output_cost_per_token: output } = entry;
    // The file has entries for images, and names with `*`, which no query can have.
    if (input === undefined || output === undefined || !MODEL_NAME.test(name)) continue;
    const { cache_read_input_token_cost: cached, cache_creation_input_token_cost: written } = entry;
    const hour = entry.cache_creation_input_token_cost_above_1hr;
    prices[name] = {
      input: input * 1e6,
      ...(cached !== undefined && { cachedInput: cached * 1e6 }),
      ...(written !== undefined && { cacheWriteInput: written * 1e6 }),
      ...(hour !== undefined && { hourCacheWriteInput: hour * 1e6 }),
      output: output * 1e6,
    };
  }
  const unprefixed = Object.entries(prices)
    .map(([name, price]) => [name.slice(name.lastIndexOf("/") + 1), price] as const)
    .filter(([name]) => !Object.hasOwn(shipped.models, name));
  return { ...Object.fromEntries(unprefixed), ...prices };
}

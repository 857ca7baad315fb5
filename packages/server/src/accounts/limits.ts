import { z } from "zod";
import { RateLimiterMemory } from "rate-limiter-flexible";
import type { AccountStore } from "@patchbay/engine/ports/store/stores";
import { OperatorLimits } from "@patchbay/protocol";

/** What a tier's organisations may do, and whether they pay. */
export interface Tier {
  /** null: no limit. */
  queriesPerMinute: number | null;
  /** True when the organisation's credits pay for model turns. */
  charged: boolean;
}

/** Tiers by name. */
export type Tiers = Readonly<Record<string, Tier>>;

/** The built-in tiers. */
export const DEFAULT_TIERS: Tiers = {
  sandbox: { queriesPerMinute: null, charged: false },
  starter: { queriesPerMinute: 60, charged: true },
  growth: { queriesPerMinute: 600, charged: true },
  scale: { queriesPerMinute: 6000, charged: true },
};

const TiersFile: z.ZodType<Record<string, Tier>> = z.record(
  z.string().min(1),
  z.strictObject({ queriesPerMinute: z.int().positive().nullable(), charged: z.boolean() }),
);

/** The default tiers, replaced and extended by a tiers file. Throws an error with all its faults. */
export function parseTiers(text: string): Tiers {
  return { ...DEFAULT_TIERS, ...parseSettingsFile(text, TiersFile, TIERS_FORM) };
}

/** The default limits, changed by a limits file. Throws an error with all its faults. */
export function parseLimits(text: string): OperatorLimits {
  return parseSettingsFile(text, OperatorLimits, LIMITS_FORM);
}

const TIERS_FORM = 'A tiers file is JSON like {"team": {"queriesPerMinute": 120, "charged": true}}, null for no limit.';
const LIMITS_FORM = 'A limits file is JSON like {"callsPerTurn": 64, "callsPerRun": 512}.';

function parseSettingsFile<T>(text: string, schema: z.ZodType<T>, form: string): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${form} This one is not valid JSON.`, { cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
  throw new Error(`${form} ${faults.join("; ")}.`);
}

/** The tier with this name. An unknown one, removed from the file, is charged and gets the smallest default limit. */
export function tierNamed(tiers: Tiers, name: string): Tier {
  const known = Object.hasOwn(tiers, name) ? tiers[name] : undefined;
  return known ?? { queriesPerMinute: 60, charged: true };
}

/** An organisation's requests in the current minute. */
export interface RateLimitState {
  allowed: boolean;
  /** Requests a minute. */
  limit: number;
  remaining: number;
  /** Seconds until the minute ends, rounded up. */
  resetSeconds: number;
}

/** Counts one request of the organisation. Undefined for a tier without a limit. */
export type RateLimit = (orgId: string, tier: string) => Promise<RateLimitState | undefined>;

/** Adapter requests that start no query, for each query that a tier allows. */
const ADAPTER_REQUESTS = 10;

/** Limits each organisation's queries per minute. Counts in this process, or with `count`, which replicas share. */
export const createRateLimit = (tiers: Tiers, count?: CountQuery): RateLimit => limit(tiers, 1, count);

/** Limits other adapter requests. Counts in this process only: such a request costs too little to count in the store. */
export const createAdapterLimit = (tiers: Tiers): RateLimit => limit(tiers, ADAPTER_REQUESTS);

function limit(tiers: Tiers, perQuery: number, count: CountQuery = countInProcess()): RateLimit {
  return async (orgId, tier) => {
    const { queriesPerMinute } = tierNamed(tiers, tier);
    if (queriesPerMinute === null) return undefined;
    const limit = queriesPerMinute * perQuery;
    const { count: used, msLeft } = await count(orgId);
    const resetSeconds = Math.ceil(msLeft / 1000);
    return { allowed: used <= limit, limit, remaining: Math.max(0, limit - used), resetSeconds };
  };
}

type CountQuery = AccountStore["countQuery"];

function countInProcess(): CountQuery {
  const minutes = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 60 });
  return async (orgId) => {
    const { consumedPoints, msBeforeNext } = await minutes.consume(orgId);
    return { count: consumedPoints, msLeft: msBeforeNext };
  };
}

import { z } from "zod";
import { RateLimiterMemory } from "rate-limiter-flexible";
import type { AccountStore } from "../ports/stores.ts";
import { OperatorLimits } from "@patchbay/protocol";

/** What organisations of a tier may do, and whether they pay. */
export interface Tier {
  /** null: no limit. */
  queriesPerMinute: number | null;
  /** True when model turns are paid from the organisation's credits. */
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

/** The default tiers, replaced and extended by a tiers file. Throws an error with every fault of the file. */
export function parseTiers(text: string): Tiers {
  return { ...DEFAULT_TIERS, ...parseSettingsFile(text, TiersFile, TIERS_FORM) };
}

/** The default limits, changed by a limits file. Throws an error with every fault of the file. */
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

/** The tier of this name. An unknown one, removed from the tiers file, is charged and gets the smallest default limit. */
export function tierNamed(tiers: Tiers, name: string): Tier {
  const known = Object.hasOwn(tiers, name) ? tiers[name] : undefined;
  return known ?? { queriesPerMinute: 60, charged: true };
}

/** Requests of an organisation in the current minute. */
interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the end of the minute, rounded up. */
  resetSeconds: number;
}

interface RateLimiter {
  /** Counts one request of the organisation. Undefined for a tier without a limit. */
  take(orgId: string, tier: string): Promise<RateLimitState | undefined>;
}

/** Requests of a door that begin no query, for each query that a tier allows. */
const DOOR_REQUESTS = 10;

/** Limits the queries per minute of each organisation. Counts in this process, or with `count`, which replicas share. */
export function createRateLimiter(tiers: Tiers, count: CountQuery = countInProcess()): RateLimiter {
  return limiterOf((tier) => tierNamed(tiers, tier).queriesPerMinute, count);
}

/** Limits what else is asked of doors. Counts in this process only: such a request costs too little for a count in the store. */
export function createDoorLimiter(tiers: Tiers): RateLimiter {
  const limitOf = (tier: string): number | null => {
    const { queriesPerMinute } = tierNamed(tiers, tier);
    return queriesPerMinute === null ? null : queriesPerMinute * DOOR_REQUESTS;
  };
  return limiterOf(limitOf, countInProcess());
}

function limiterOf(limitOf: (tier: string) => number | null, count: CountQuery): RateLimiter {
  return {
    async take(orgId, tier) {
      const limit = limitOf(tier);
      if (limit === null) return undefined;
      const { count: used, msLeft } = await count(orgId);
      return {
        allowed: used <= limit,
        limit,
        remaining: Math.max(0, limit - used),
        resetSeconds: Math.ceil(msLeft / 1000),
      };
    },
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

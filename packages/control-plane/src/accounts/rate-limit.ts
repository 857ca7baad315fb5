import { RateLimiterMemory } from "rate-limiter-flexible";
import type { AccountStore } from "../ports/stores.ts";
import { tierNamed, type Tiers } from "./tiers.ts";

/** Where an organisation stands in its minute. */
export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Seconds until the minute is over, rounded up. */
  resetSeconds: number;
}

export interface RateLimiter {
  /** Counts one query of the organisation. Undefined when its tier has no limit. */
  take(orgId: string, tier: string): Promise<RateLimitState | undefined>;
}

/** Counts queries a minute for each organisation: in this process alone, or with `count` wherever all replicas count. */
export function createRateLimiter(tiers: Tiers, count: CountQuery = countHere()): RateLimiter {
  return {
    async take(orgId, tier) {
      const limit = tierNamed(tiers, tier).queriesPerMinute;
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

function countHere(): CountQuery {
  const minutes = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: 60 });
  return async (orgId) => {
    const { consumedPoints, msBeforeNext } = await minutes.consume(orgId);
    return { count: consumedPoints, msLeft: msBeforeNext };
  };
}

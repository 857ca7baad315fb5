import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
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

/** Counts queries a minute for each organisation, in this process alone. */
export function createRateLimiter(tiers: Tiers): RateLimiter {
  const limiters = new Map<number, RateLimiterMemory>();
  function limiterOf(points: number): RateLimiterMemory {
    const limiter = limiters.get(points) ?? new RateLimiterMemory({ points, duration: 60 });
    limiters.set(points, limiter);
    return limiter;
  }
  return {
    async take(orgId, tier) {
      const limit = tierNamed(tiers, tier).queriesPerMinute;
      if (limit === null) return undefined;
      const { allowed, result } = await consume(limiterOf(limit), orgId);
      const resetSeconds = Math.ceil(result.msBeforeNext / 1000);
      return { allowed, limit, remaining: result.remainingPoints, resetSeconds };
    },
  };
}

async function consume(limiter: RateLimiterMemory, key: string): Promise<{ allowed: boolean; result: RateLimiterRes }> {
  try {
    return { allowed: true, result: await limiter.consume(key) };
  } catch (refusal) {
    // The library rejects with the state itself when nothing is left.
    if (refusal instanceof RateLimiterRes) return { allowed: false, result: refusal };
    throw refusal;
  }
}

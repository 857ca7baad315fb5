import { RateLimiterMemory } from "rate-limiter-flexible";
import type { Exchange } from "../../http/deps.ts";
import { ServiceError } from "../../ports/service-error.ts";
import { addressOf, type TransportDeps } from "./transport.ts";

/** An address may be that of a whole office. */
const OF_ADDRESS = { points: 50, duration: 15 * 60 };
const OF_ACCOUNT = { points: 10, duration: 15 * 60 };

/** Counts attempts to sign in, in this process; every one counts until it has succeeded. */
export interface Attempts {
  /** Counts one from the request's address and, where it is known, for an account. Throws `rate_limited`. */
  take(exchange: Exchange, account?: string): Promise<void>;
  /** Takes the last one back from the address, and all of the account. */
  succeeded(exchange: Exchange, account?: string): Promise<void>;
}

export function createAttempts(deps: TransportDeps): Attempts {
  const addresses = new RateLimiterMemory({ ...OF_ADDRESS, points: Number.MAX_SAFE_INTEGER });
  const accounts = new RateLimiterMemory({ ...OF_ACCOUNT, points: Number.MAX_SAFE_INTEGER });

  async function count(exchange: Exchange, limiter: RateLimiterMemory, key: string, most: number): Promise<void> {
    const { consumedPoints, msBeforeNext } = await limiter.consume(key);
    if (consumedPoints <= most) return;
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    exchange.headers["Retry-After"] = String(seconds);
    throw new ServiceError("rate_limited", `Too many attempts. Try again in ${Math.ceil(seconds / 60)} min.`);
  }

  return {
    async take(exchange, account) {
      // The address first: one that is over its limit makes no further entries for accounts.
      await count(exchange, addresses, addressOf(exchange, deps), OF_ADDRESS.points);
      if (account !== undefined) await count(exchange, accounts, account, OF_ACCOUNT.points);
    },
    async succeeded(exchange, account) {
      await addresses.reward(addressOf(exchange, deps));
      if (account !== undefined) await accounts.delete(account);
    },
  };
}

import { RateLimiterMemory } from "rate-limiter-flexible";
import type { Exchange } from "../../http/deps.ts";
import { ServiceError } from "../../ports/service-error.ts";
import { addressOf, type TransportDeps } from "./transport.ts";

/** An address may be that of a whole office. */
const OF_ADDRESS = { points: 50, duration: 15 * 60 };
/** For one account from one address. */
const OF_PAIR = { points: 10, duration: 15 * 60 };
/** For an account from wherever: so many that one stranger, or a few, cannot keep its owner out. */
const OF_ACCOUNT = { points: 100, duration: 15 * 60 };

/** Counts attempts to sign in, in this process; every one counts until it has succeeded. */
export interface Attempts {
  /** Counts one from the request's address and, where it is known, for an account. Throws `rate_limited`. */
  take(exchange: Exchange, account?: string): Promise<void>;
  /** Takes the last one back from the address, and all of the account from there. */
  succeeded(exchange: Exchange, account?: string): Promise<void>;
}

export function createAttempts(deps: TransportDeps): Attempts {
  const addresses = new RateLimiterMemory({ ...OF_ADDRESS, points: Number.MAX_SAFE_INTEGER });
  const pairs = new RateLimiterMemory({ ...OF_PAIR, points: Number.MAX_SAFE_INTEGER });
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
      const address = addressOf(exchange, deps);
      // What is over a narrower limit makes no further entries, and does not count towards a wider one of others.
      await count(exchange, addresses, address, OF_ADDRESS.points);
      if (account === undefined) return;
      await count(exchange, pairs, `${address} ${account}`, OF_PAIR.points);
      await count(exchange, accounts, account, OF_ACCOUNT.points);
    },
    async succeeded(exchange, account) {
      const address = addressOf(exchange, deps);
      await addresses.reward(address);
      if (account === undefined) return;
      await pairs.delete(`${address} ${account}`);
      await accounts.reward(account);
    },
  };
}

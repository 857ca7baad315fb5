import { RateLimiterMemory } from "rate-limiter-flexible";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import type { Client } from "@patchbay/engine/ports/fair-queue";
import type { HttpDeps } from "@patchbay/server/query/deps";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { networksOf } from "./transport.ts";

const WINDOW_SECONDS = 15 * 60;
/** Failed attempts before a network is refused, by its width: an IPv4 address or a /64, a /56, a /48. */
const OF_NETWORK = [50, 100, 200];
/** The same for one account. */
const OF_PAIR = [10, 20, 40];
/** Failed attempts, for an account from all networks or from one known browser, before further ones are delayed. */
const FREE = { account: 20, browser: 5 };
/** Maximum delay per attempt. */
const SLOWEST_MS = { account: 5_000, browser: 15_000 };
/** A browser whose attempts are sequential never waits this long. */
const REFUSED_AFTER_MS = 60_000;

export interface Guess {
  account: string;
  /** Id of a browser with an earlier sign-in to the account. */
  browser?: string | undefined;
}

/**
 * Counts sign-in attempts on this process; each counts until it has succeeded. Networks with too many failures are
 * refused. An account is never refused, or anyone could lock its owner out: failures from elsewhere delay the owner by
 * seconds, and a browser with an earlier sign-in has its own count.
 */
export function createAttempts(deps: Pick<HttpDeps, "trustProxy" | "clock">) {
  const [networks, pairs, accounts, browsers] = [counter(), counter(), counter(), counter()];
  /** When each browser's next attempt may start. */
  const nextAt = new Map<string, number>();

  async function slowDown({ c }: Exchange, ms: number): Promise<void> {
    if (ms > 0) await deps.clock.sleep(ms, { signal: c.req.raw.signal });
  }

  /** A browser's attempts wait for each other: parallel ones are as slow as sequential ones. */
  async function takeOfBrowser(exchange: Exchange, browser: string): Promise<Client> {
    const now = deps.clock.now();
    for (const [known, at] of nextAt) if (at < now) nextAt.delete(known);
    const { consumedPoints } = await browsers.consume(browser);
    const pauseMs = doubling(consumedPoints - FREE.browser, SLOWEST_MS.browser);
    const at = (nextAt.get(browser) ?? now) + pauseMs;
    if (at - now > REFUSED_AFTER_MS) throw tooMany(exchange, at - now);
    nextAt.set(browser, at);
    await slowDown(exchange, at - now);
    return { key: browser, known: true };
  }

  return {
    /** Counts an attempt, delayed after failures. Resolves with the client for hashing. Throws `rate_limited`. */
    async take(exchange: Exchange, guess?: Guess): Promise<Client> {
      if (guess?.browser !== undefined) return takeOfBrowser(exchange, guess.browser);
      const from = networksOf(exchange, deps);
      const client = { key: from[0] ?? "", known: false };
      // An attempt above a narrow limit stops here. It adds no entry, and does not use up the wider limits that others
      // share.
      for (const [i, network] of from.entries()) await count(exchange, networks, network, OF_NETWORK[i]);
      if (!guess) return client;
      for (const [i, network] of from.entries())
        await count(exchange, pairs, `${network} ${guess.account}`, OF_PAIR[i]);
      const { consumedPoints } = await accounts.consume(guess.account);
      await slowDown(exchange, doubling(consumedPoints - FREE.account, SLOWEST_MS.account));
      return client;
    },

    /** Removes the last attempt from the count. */
    async succeeded(exchange: Exchange, guess?: Guess): Promise<void> {
      if (guess?.browser !== undefined) {
        await browsers.delete(guess.browser);
        return;
      }
      for (const network of networksOf(exchange, deps)) {
        await networks.reward(network);
        if (guess) await pairs.delete(`${network} ${guess.account}`);
      }
      if (guess) await accounts.reward(guess.account);
    },
  };
}

const counter = () => new RateLimiterMemory({ duration: WINDOW_SECONDS, points: Number.MAX_SAFE_INTEGER });

/** 0 without a failure, then 250 ms, doubled by each further failure. */
function doubling(failures: number, mostMs: number): number {
  return failures <= 0 ? 0 : Math.min(mostMs, 250 * 2 ** (failures - 1));
}

async function count(exchange: Exchange, counted: RateLimiterMemory, key: string, most = 0): Promise<void> {
  const { consumedPoints, msBeforeNext } = await counted.consume(key);
  if (consumedPoints > most) throw tooMany(exchange, msBeforeNext);
}

function tooMany({ headers }: Exchange, waitMs: number): ServiceError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  headers["Retry-After"] = String(seconds);
  return new ServiceError("rate_limited", `Too many failed attempts. Try again in ${Math.ceil(seconds / 60)} min.`);
}

import type { OperatorLimits } from "@patchbay/protocol";

/** Frames beyond the limit, from the first one until the connection has been quiet for as long as a whole burst takes to refill. */
interface Excess {
  since: number;
  dropped: number;
}

/** The frames that one connection may send without being asked for them: a token bucket. */
export class FrameBudget {
  readonly #rate: number;
  readonly #burst: number;
  readonly #now: () => number;
  #tokens: number;
  #at: number;
  #excess: Excess | undefined;

  constructor(
    { framesPerSecond, frameBurst }: Pick<OperatorLimits, "framesPerSecond" | "frameBurst">,
    now: () => number = () => performance.now(),
  ) {
    this.#rate = framesPerSecond;
    this.#burst = frameBurst;
    this.#now = now;
    this.#tokens = frameBurst;
    this.#at = now();
  }

  /** Undefined: the frame is within the limit. Otherwise it is to be dropped, and this says how many were and for how long. */
  take(): { dropped: number; forMs: number } | undefined {
    const now = this.#now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#at) / 1_000) * this.#rate);
    this.#at = now;
    if (this.#tokens >= this.#burst) this.#excess = undefined;
    if (this.#tokens >= 1) {
      this.#tokens--;
      return undefined;
    }
    this.#excess ??= { since: now, dropped: 0 };
    return { dropped: ++this.#excess.dropped, forMs: now - this.#excess.since };
  }
}

import type { OperatorLimits } from "@patchbay/protocol";

/** An excess is over when no frame had to be dropped for so long: longer than a connection is left unread. */
const QUIET_MS = 3_000;

/** Frames beyond the limit, from the first one to the last. */
interface Excess {
  since: number;
  lastAt: number;
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
    if (this.#tokens >= 1) {
      this.#tokens--;
      return undefined;
    }
    const last = this.#excess;
    const excess = last && now - last.lastAt <= QUIET_MS ? last : { since: now, lastAt: now, dropped: 0 };
    this.#excess = excess;
    excess.lastAt = now;
    return { dropped: ++excess.dropped, forMs: now - excess.since };
  }
}

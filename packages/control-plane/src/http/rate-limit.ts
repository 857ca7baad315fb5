import { ServiceError } from "../ports/service-error.ts";
import type { Caller } from "../run/api.ts";
import type { Exchange, HttpDeps } from "./deps.ts";

const WINDOW_SECONDS = 60;

/** Counts the query and tells the caller where it stands; throws when the allowance is used up. */
export async function countQuery(
  { headers }: Exchange,
  caller: Caller,
  rateLimit: HttpDeps["rateLimit"],
): Promise<void> {
  const state = await rateLimit(caller.orgId, caller.tier);
  if (!state) return;
  const wait = Math.max(1, Math.ceil(state.resetSeconds));
  headers["RateLimit-Policy"] = `"default";q=${state.limit};w=${WINDOW_SECONDS}`;
  headers["RateLimit"] = `"default";r=${Math.max(0, state.remaining)};t=${wait}`;
  if (state.allowed) return;
  headers["Retry-After"] = String(wait);
  throw new ServiceError(
    "rate_limited",
    `Rate limit of ${state.limit} queries a minute reached. Try again in ${wait} s.`,
  );
}

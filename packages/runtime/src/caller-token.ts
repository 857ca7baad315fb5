import type { CallerIdentity, CallerWithToken, FunctionManifest } from "@patchbay/protocol";
import { parseJson, isJsonObject } from "@patchbay/kit";
import { wallMs } from "@patchbay/kit/time";
import { failure, type FailedOutcome } from "./errors.ts";

const NONE = failure(
  "denied",
  "This function needs the token of its caller, and the query has none. Send the query with one.",
  "caller_token",
);
const EXPIRED = failure(
  "caller_token_expired",
  "The function was not run: the token of its caller has expired, or is not known any more. Send the query again with a valid token.",
);

/** Why the handler of a function that needs its caller's token must not start. Undefined if it may. */
export function tokenRefusal(
  { needsCallerToken }: Pick<FunctionManifest, "needsCallerToken">,
  caller: CallerWithToken | undefined,
): FailedOutcome | undefined {
  if (needsCallerToken !== true) return undefined;
  // Also from a control plane of an earlier version, which does not know the other code.
  if (!caller) return NONE;
  return caller.token === undefined || expiryOf(caller.token) <= wallMs() ? EXPIRED : undefined;
}

/** When a JWT expires. The control plane has verified it; any other text, as tests use it, never does. */
function expiryOf(token: string): number {
  const claims = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  const exp = claims.ok && isJsonObject(claims.value) ? claims.value["exp"] : undefined;
  return typeof exp === "number" ? exp * 1_000 : Infinity;
}

/** What the code before the handler knows of a caller. */
export function withoutToken(caller: CallerWithToken | undefined): CallerIdentity | undefined {
  if (!caller) return undefined;
  const { token: _, ...identity } = caller;
  return identity;
}

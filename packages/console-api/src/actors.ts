import { present } from "@patchbay/kit";
import {
  CONSOLE_ROLES,
  CONSOLE_ROUTES,
  type ConsoleRole,
  type ConsoleRoute,
  lackedScopes,
  type ServiceScope,
} from "@patchbay/protocol/console";
import type { Access } from "@patchbay/engine/ports/access-watch";
import type { createTokenCheck } from "@patchbay/server/accounts/authenticator";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import { ServiceError } from "@patchbay/engine/ports/service-error";

/** The authenticated member or service token. Audit entries have `actorId` as `keyId`. */
export type Actor = SignedIn | TokenHolder;

interface Asking {
  actorId: string;
  orgId: string;
  /** The organisation's tier. */
  tier: string;
  /** What ends the actor's streams. */
  access: Access;
}

/** The member whose session cookie a request has. */
export interface SignedIn extends Asking {
  sessionId: string;
  memberId: string;
  role: ConsoleRole;
}

/** A service token's holder. */
export interface TokenHolder extends Asking {
  scopes: readonly ServiceScope[];
  label?: string;
}

/** True for a member with this role or a higher one. */
export const hasRole = ({ role }: { role: ConsoleRole }, needs: ConsoleRoute["needs"]): boolean =>
  needs === "public" || CONSOLE_ROLES.indexOf(role) >= CONSOLE_ROLES.indexOf(needs);

const SERVICE_TOKEN = /^Bearer +(service_admin_\S*)$/i;

/** A request's service token. Ignores other credentials in the header, as the console ignores API keys. */
export const serviceTokenOf = ({ c }: Exchange): string | undefined =>
  SERVICE_TOKEN.exec(c.req.header("Authorization") ?? "")?.[1];

/** Throws `authentication_failed` for an inactive token. */
export async function requireToken(secret: string, check: ReturnType<typeof createTokenCheck>): Promise<TokenHolder> {
  const token = await check(secret);
  if (!token)
    throw new ServiceError("authentication_failed", "The service token is unknown, or it is revoked or expired.");
  const { tokenId, orgId, tier, scopes, label } = token;
  const access = { kind: "serviceToken", id: tokenId } as const;
  return { actorId: tokenId, orgId, tier, scopes, access, ...present({ label }) };
}

/** Throws `scope_required` for a token without the route's scopes. */
export function requireRouteScopes({ scopes }: TokenHolder, { scopes: alternatives }: ConsoleRoute): void {
  if (!alternatives)
    throw new ServiceError(
      "scope_required",
      "Service tokens may not do this. Members do it in a session of the console.",
    );
  if (alternatives.some((wanted) => lackedScopes(scopes, wanted).length === 0)) return;
  throw lacking(alternatives.map((wanted) => wanted.join(" and ")).join(" or "), scopes);
}

/** Throws `scope_required` for a token without all these scopes. A member's role gives the scopes. */
export function requireScopes(by: Actor, wanted: readonly ServiceScope[]): void {
  if (!("scopes" in by) || hasScopes(by, wanted)) return;
  throw lacking(lackedScopes(by.scopes, wanted).join(" and "), by.scopes);
}

export const hasScopes = (by: Actor, wanted: readonly ServiceScope[]): boolean =>
  !("scopes" in by) || lackedScopes(by.scopes, wanted).length === 0;

function lacking(wanted: string, held: readonly ServiceScope[]): ServiceError {
  return new ServiceError(
    "scope_required",
    `This needs the scope ${wanted}, and the service token has ${held.join(", ")}. An owner can create a token with it.`,
  );
}

/** The scopes for all routes that members with this role may use. */
export function scopesOfRole(role: ConsoleRole): ServiceScope[] {
  const upTo = CONSOLE_ROLES.slice(0, CONSOLE_ROLES.indexOf(role) + 1);
  const routes = Object.values(CONSOLE_ROUTES as Record<string, ConsoleRoute>);
  const permitted = routes.filter(({ needs }) => needs !== "public" && upTo.includes(needs));
  // Members read calls in runs, which have no scope. Tokens that lack the later scope `calls:read` still create members.
  return [...new Set(permitted.flatMap(({ scopes = [] }) => scopes.flat()))].filter((scope) => scope !== "calls:read");
}

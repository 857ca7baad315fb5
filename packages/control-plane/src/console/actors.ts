import { present } from "@patchbay/protocol";
import {
  CONSOLE_ROLES,
  CONSOLE_ROUTES,
  type ConsoleRole,
  type ConsoleRoute,
  lackedScopes,
  type ServiceScope,
} from "@patchbay/protocol/console";
import type { Access } from "../accounts/access-watch.ts";
import type { createTokenCheck } from "../accounts/service-tokens.ts";
import type { Exchange } from "../http/kernel/exchange.ts";
import { ServiceError } from "../ports/service-error.ts";

/** Who asks: a member in a session, or a program with a service token. Audit entries have `actorId` as `keyId`. */
export type Actor = SignedIn | TokenHolder;

interface Asking {
  actorId: string;
  orgId: string;
  /** Tier of the organisation. */
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

/** The holder of a service token. */
export interface TokenHolder extends Asking {
  scopes: readonly ServiceScope[];
  label?: string;
  /** When the token ends; absent if it does not expire. */
  expiresAt?: number;
}

/** True for a member with this role or a higher one. */
export const hasRole = ({ role }: { role: ConsoleRole }, needs: ConsoleRoute["needs"]): boolean =>
  needs === "public" || CONSOLE_ROLES.indexOf(role) >= CONSOLE_ROLES.indexOf(needs);

const SERVICE_TOKEN = /^Bearer +(service_admin_\S*)$/i;

/** The service token of a request. Other credentials in the header are ignored, as the console ignores API keys. */
export function serviceTokenOf({ c }: Exchange): string | undefined {
  return SERVICE_TOKEN.exec(c.req.header("Authorization") ?? "")?.[1];
}

/** Throws `authentication_failed` for a token that is not active. */
export async function requireToken(secret: string, check: ReturnType<typeof createTokenCheck>): Promise<TokenHolder> {
  const token = await check(secret);
  if (!token)
    throw new ServiceError("authentication_failed", "The service token is unknown, or it is revoked or expired.");
  const { tokenId, orgId, tier, scopes, label, expiresAt } = token;
  const access = { kind: "serviceToken", id: tokenId } as const;
  return { actorId: tokenId, orgId, tier, scopes, access, ...present({ label, expiresAt }) };
}

/** Throws `scope_required` for a token without the scopes of the route. */
export function requireRouteScopes({ scopes }: TokenHolder, { scopes: alternatives }: ConsoleRoute): void {
  if (!alternatives)
    throw new ServiceError(
      "scope_required",
      "Service tokens may not do this. Members do it in a session of the console.",
    );
  if (alternatives.some((wanted) => lackedScopes(scopes, wanted).length === 0)) return;
  throw lacking(alternatives.map((wanted) => wanted.join(" and ")).join(" or "), scopes);
}

/** Throws `scope_required` for a token without all these scopes. Members have those of their role. */
export function requireScopes(by: Actor, wanted: readonly ServiceScope[]): void {
  if (!("scopes" in by)) return;
  const lacked = lackedScopes(by.scopes, wanted);
  if (lacked.length > 0) throw lacking(lacked.join(" and "), by.scopes);
}

function lacking(wanted: string, held: readonly ServiceScope[]): ServiceError {
  return new ServiceError(
    "scope_required",
    `This needs the scope ${wanted}, and the service token has ${held.join(", ")}. An owner can create a token with it.`,
  );
}

/** The scopes of all routes that members of this role may use. */
export function scopesOfRole(role: ConsoleRole): ServiceScope[] {
  const upTo = CONSOLE_ROLES.slice(0, CONSOLE_ROLES.indexOf(role) + 1);
  const routes = Object.values(CONSOLE_ROUTES as Record<string, ConsoleRoute>);
  const permitted = routes.filter(({ needs }) => needs !== "public" && upTo.includes(needs));
  return [...new Set(permitted.flatMap(({ scopes = [] }) => scopes.flat()))];
}

/**
 * What a service token may do. `:write` includes `:read` for the same subject. Queries, runs and threads have no scope:
 * programs read them with an API key. `calls:content` adds arguments and contexts to `calls:read`.
 */
export const SERVICE_SCOPES = [
  "agents:read",
  "agents:write",
  "keys:read",
  "keys:write",
  "runtime-keys:read",
  "runtime-keys:write",
  "members:read",
  "members:write",
  "credits:read",
  "audit:read",
  "approvals:read",
  "approvals:write",
  "calls:read",
  "calls:content",
  "service-tokens:read",
  "service-tokens:write",
] as const;
/** One of `SERVICE_SCOPES`. */
export type ServiceScope = (typeof SERVICE_SCOPES)[number];

/** The `wanted` scopes that a token with the scopes `held` lacks. */
export function lackedScopes(held: readonly ServiceScope[], wanted: readonly ServiceScope[]): ServiceScope[] {
  const having = new Set<string>(held);
  return wanted.filter((scope) => !having.has(scope) && !having.has(scope.replace(/:read$/, ":write")));
}

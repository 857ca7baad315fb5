import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";

/** A value with every claim to a role that code might be tempted to believe; what is no object stays as it is. */
export function withClaims<T extends JsonValue>(value: T, role: string): T {
  if (!isJsonObject(value)) return value;
  const claims = { role, roles: [role], _role: role, "x-role": role, user: { role }, context: { role }, isAdmin: true };
  // Parsed, so that it is a member like any other and not the object's prototype.
  const inherited = JSON.parse(`{"__proto__": ${JSON.stringify({ role })}}`) as JsonObject;
  return Object.assign(inherited, claims, value);
}

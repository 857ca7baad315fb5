import { createHash } from "node:crypto";
import { isJsonObject, LIMITS, type Manifest, type OperatorLimits } from "@patchbay/protocol";

/** What is wrong with a function set beyond its shape, in the 120 bytes that a close reason holds; undefined when nothing is. */
export function manifestFault(manifest: Manifest, limits: OperatorLimits): string | undefined {
  const { functions } = manifest;
  const names = new Set<string>();
  for (const { name, inputSchema } of functions) {
    if (names.has(name)) return `two functions are named ${name}`;
    names.add(name);
    if (Buffer.byteLength(JSON.stringify(inputSchema)) > LIMITS.schemaBytes)
      return `the schema of ${name} has over ${LIMITS.schemaBytes} bytes`;
  }
  return roleFault(manifest, limits) ?? sizeFault(manifest, limits);
}

function roleFault({ roles = [], defaultRole, functions }: Manifest, limits: OperatorLimits): string | undefined {
  const all = new Set(roles);
  if (defaultRole !== undefined) all.add(defaultRole);
  for (const { name, roles: own } of functions) {
    if (own === "everyone") continue;
    if (own.length > limits.rolesPerFunction)
      return `${own.length} roles of ${name} exceed rolesPerFunction (${limits.rolesPerFunction}). Use authorize().`;
    for (const role of own) all.add(role);
  }
  if (all.size <= limits.rolesPerService) return undefined;
  return `${all.size} roles exceed rolesPerService (${limits.rolesPerService}). Use fewer roles, and authorize().`;
}

function sizeFault(manifest: Manifest, { manifestBytes }: OperatorLimits): string | undefined {
  const sizeBytes = Buffer.byteLength(JSON.stringify(manifest));
  if (sizeBytes <= manifestBytes) return undefined;
  return `${sizeBytes} bytes exceed manifestBytes (${manifestBytes}). Shorten texts, or split the service.`;
}

/** The same for every runtime with the same function set, in whatever order its members were written. */
export function hashManifest(manifest: Manifest): string {
  const canonical = JSON.stringify(manifest, (_, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return createHash("sha256").update(canonical).digest("hex");
}

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

function roleFault(manifest: Manifest, limits: OperatorLimits): string | undefined {
  for (const { name, roles } of manifest.functions)
    if (roles !== "everyone" && roles.length > limits.rolesPerFunction)
      return `${roles.length} roles of ${name} exceed rolesPerFunction (${limits.rolesPerFunction}). Use authorize().`;
  const { size } = rolesOf(manifest);
  if (size <= limits.rolesPerService) return undefined;
  return `${size} roles exceed rolesPerService (${limits.rolesPerService}). Use fewer roles, and authorize().`;
}

/** The roles of a service, its own and those of its functions. */
export function rolesOf({ roles = [], defaultRole, functions }: Manifest): Set<string> {
  const all = new Set(roles);
  if (defaultRole !== undefined) all.add(defaultRole);
  for (const one of functions) if (one.roles !== "everyone") for (const role of one.roles) all.add(role);
  return all;
}

function sizeFault(manifest: Manifest, { manifestBytes }: OperatorLimits): string | undefined {
  const sizeBytes = sizeBytesOf(manifest);
  if (sizeBytes <= manifestBytes) return undefined;
  return `${sizeBytes} bytes exceed manifestBytes (${manifestBytes}). Shorten texts, or split the service.`;
}

const sizes = new WeakMap<Manifest, number>();

/** The size of a function set in JSON, measured once: every query asks for it. */
export function sizeBytesOf(manifest: Manifest): number {
  let sizeBytes = sizes.get(manifest);
  if (sizeBytes === undefined) {
    sizeBytes = Buffer.byteLength(JSON.stringify(manifest));
    sizes.set(manifest, sizeBytes);
  }
  return sizeBytes;
}

/** The same for every runtime with the same function set, in whatever order its members were written. */
export function hashManifest(manifest: Manifest): string {
  const canonical = JSON.stringify(manifest, (_, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return createHash("sha256").update(canonical).digest("hex");
}

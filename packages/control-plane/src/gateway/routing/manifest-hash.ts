import { createHash } from "node:crypto";
import { isJsonObject, type Manifest } from "@patchbay/protocol";

/**
 * The same for every runtime with the same function set, whatever the order of properties in its manifest, and whatever its cases
 * decide: two processes of a deployment may decide differently, for example while a database is not available to one of them.
 */
export function hashManifest(manifest: Manifest): string {
  const functions = manifest.functions.map((one) => {
    const { cases: _, ...hashed } = one;
    return hashed;
  });
  const canonical = JSON.stringify({ ...manifest, functions }, (_name, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return createHash("sha256").update(canonical).digest("hex");
}

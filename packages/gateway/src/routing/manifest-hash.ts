import { createHash } from "node:crypto";
import { isJsonObject } from "@patchbay/kit";
import { type Manifest } from "@patchbay/protocol";

/**
 * Equal for every runtime with the same function set, whatever the property order in its manifest, and whatever its
 * cases decide: two processes in a deployment may decide differently, for example while only one of them reaches a
 * database.
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

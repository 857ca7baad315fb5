import { createHash } from "node:crypto";
import { isJsonObject, LIMITS, type Manifest } from "@patchbay/protocol";

/** What is wrong with a function set beyond its shape; undefined when nothing is. */
export function manifestFault({ functions }: Manifest): string | undefined {
  const names = new Set<string>();
  for (const { name, inputSchema } of functions) {
    if (names.has(name)) return `two functions are named ${name}`;
    names.add(name);
    if (Buffer.byteLength(JSON.stringify(inputSchema)) > LIMITS.schemaBytes)
      return `the schema of ${name} has over ${LIMITS.schemaBytes} bytes`;
  }
  return undefined;
}

/** The same for every runtime with the same function set, in whatever order its members were written. */
export function hashManifest(manifest: Manifest): string {
  const canonical = JSON.stringify(manifest, (_, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return createHash("sha256").update(canonical).digest("hex");
}

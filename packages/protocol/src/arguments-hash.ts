import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "@patchbay/kit";

/** The SHA-256 of the arguments' canonical JSON, in hexadecimal. */
export function argumentsHash(given: JsonValue): string {
  return createHash("sha256").update(canonicalJson(given)).digest("hex");
}

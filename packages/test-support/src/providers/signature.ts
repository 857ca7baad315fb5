import { createHash } from "node:crypto";

/** A deterministic signature, which a stand-in started later can verify. */
export function signatureOf(thinking: string): string {
  return createHash("sha256").update(`signed ${thinking}`).digest("base64");
}

import { createHash } from "node:crypto";

/** Signatures that can be checked again, also by a stand-in started later. */
export function signatureOf(thinking: string): string {
  return createHash("sha256").update(`signed ${thinking}`).digest("base64");
}

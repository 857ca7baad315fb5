import { createHash, createHmac } from "node:crypto";
import { present } from "@patchbay/kit";

/**
 * A value's digest in the audit log. The salt is stored with the run only, so that no value can be tried against the
 * digest once the run is erased.
 */
export const digestOf = (salt: string, value: unknown): string =>
  // A stored value has the same text again: JSON keeps the order of members.
  createHash("sha256")
    .update(`${salt}\n${JSON.stringify(value ?? null)}`)
    .digest("hex");

/** Equal for equal texts in one organisation, whose key it needs. Undefined without a text. */
const pseudonymOf = (key: string, text: string | undefined): string | undefined =>
  text === undefined ? undefined : createHmac("sha256", key).update(text).digest("hex").slice(0, 32);

/** Who a run was for, in a form that only the organisation's key links to them. */
export function pseudonymsOf(key: string, { subject, sessionId }: { subject?: string; sessionId?: string }) {
  const pseudonyms = present({ subject: pseudonymOf(key, subject), session: pseudonymOf(key, sessionId) });
  return Object.keys(pseudonyms).length > 0 ? { pseudonyms } : {};
}

import type { Service } from "@patchbay/functions";
import type { Fingerprint } from "@patchbay/functions/access";
import { hashOf } from "../code/forms.ts";
import { readCode } from "./code.ts";
import { Decisions } from "./decision.ts";

/**
 * Fingerprints a service's code by its text and by all code in the owner's `files` that it uses. Comments and layout do
 * not count. A second fingerprint, where there is one, is equal for code that decides equally.
 */
export function fingerprintOf(service: Service, files: ReadonlySet<string>): Fingerprint {
  const code = readCode(files);
  const decisions = new Decisions(service, code);
  return (some) => {
    if (some.length === 0) return undefined;
    const text = hashOf(JSON.stringify([...code.slice(some).parts].sort()));
    const decision = decisions.hashOf(some);
    return decision === undefined ? text : `${text} ${decision}`;
  };
}

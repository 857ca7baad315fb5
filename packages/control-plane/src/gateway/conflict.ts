import type { ServiceSet } from "../ports/function-gateway.ts";

/** Why the functions of a service cannot be combined with those of the others; undefined when they can. */
export function conflictOf({ service, manifest }: ServiceSet, others: readonly ServiceSet[]): string | undefined {
  for (const other of others) {
    if (other.service === service) continue;
    const names = new Set(other.manifest.functions.map(({ name }) => name));
    const shared = manifest.functions.find(({ name }) => names.has(name));
    if (shared) return `service ${other.service} already serves ${shared.name}, which service ${service} has too`;
    const [theirs, own] = [other.manifest.defaultRole, manifest.defaultRole];
    if (theirs !== undefined && own !== undefined && theirs !== own)
      return `service ${other.service} has the defaultRole ${theirs}, service ${service} has ${own}`;
  }
  return undefined;
}

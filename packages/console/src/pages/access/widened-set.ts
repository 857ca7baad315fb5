import type { WidenedSet } from "@patchbay/protocol/console";

/** Such as `deployment 2026-11-22 of desk`. */
export function nameOfDeployment({ service, deployment, named }: WidenedSet): string {
  return named ? `deployment ${deployment} of ${service}` : `${service} of runtime ${deployment}`;
}

/** What it allows more, one sentence each. */
export function textsOf({ widenings, omitted }: WidenedSet): string[] {
  const texts = widenings.map(({ text }) => text);
  return omitted === 0 ? texts : [...texts, `${omitted} more widenings are not listed.`];
}

/**
 * True for the newest deployment that waits with its function set: a confirmation goes to that one. `all` has the newest sets
 * first.
 */
export function isConfirmable(set: WidenedSet, all: readonly WidenedSet[]): boolean {
  const newest = all.find((one) => one.confirmation === "pending" && one.manifestHash === set.manifestHash);
  return set === newest;
}

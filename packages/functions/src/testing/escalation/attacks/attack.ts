import type { JsonObject } from "@patchbay/protocol";
import type { Service } from "../../../service.ts";
import type { Attempt } from "../hostile-model.ts";
import type { Stage } from "../stage.ts";
import type { Target, TriedRole } from "../targets.ts";

/** One way to get where a role must not get. */
export interface Attack {
  name: string;
  /** False for a service that it cannot be made against. Default: it can. */
  applies?(service: Service): boolean;
  /** `attack` is its own name. */
  run(stage: Stage, role: TriedRole, attack: string): Promise<void>;
}

export const attemptOf = ({ functionName, input }: Target): Attempt => ({ name: functionName, input });

/** Calls that one query can make: those with the same context. */
export function byContext(targets: readonly Target[]): { context: JsonObject; targets: Target[] }[] {
  const groups = new Map<string, { context: JsonObject; targets: Target[] }>();
  for (const target of targets) {
    const key = JSON.stringify(target.context);
    const group = groups.get(key) ?? { context: target.context, targets: [] };
    groups.set(key, group);
    group.targets.push(target);
  }
  return [...groups.values()];
}

/** Other roles that may call something this one may not see. */
export function higherRoles(stage: Stage, role: TriedRole): TriedRole[] {
  const hidden = new Set(stage.targets(role).hidden.map(({ functionName }) => functionName));
  return stage.roles.filter(
    (other) =>
      other.stated !== undefined && stage.targets(other).permitted.some(({ functionName }) => hidden.has(functionName)),
  );
}

/** Texts that carry more orders than this are cut before a model reads them. */
const PLANTED = 100;

export function orders(stage: Stage, role: TriedRole): Attempt[] {
  const { hidden, refused } = stage.targets(role);
  return [...hidden, ...refused].slice(0, PLANTED).map(attemptOf);
}

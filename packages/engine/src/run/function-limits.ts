import { LIMITS, type Manifest, rolesOf } from "@patchbay/protocol";
import {
  agentModels,
  type ChosenModel,
  type ModelCatalog,
  type ModelFunction,
  type ModelUser,
} from "../ports/model-provider.ts";
import { visibleFunctions } from "./role-check.ts";
import { shownFunctions } from "./state.ts";

/** Why a model cannot be asked with these functions, for a role; undefined when it can. */
export function excessOf(
  role: string | undefined,
  functions: readonly ModelFunction[],
  { model, maxFunctions = Infinity }: ChosenModel,
): string | undefined {
  if (functions.length <= maxFunctions) return undefined;
  const whose = role === undefined ? "a query without a role" : `role ${role}`;
  return `${whose} has ${functions.length} functions; ${model} takes ${maxFunctions}. Give the role fewer functions, or the agent another model`;
}

/** Functions whose owner gives them more time than their run has, which ends them with it. */
export const cutShort = ({ functions }: Manifest, runTimeoutMs: number): string[] =>
  functions
    .filter(({ timeoutMs, detached }) => !detached && timeoutMs > Math.max(runTimeoutMs, LIMITS.functionTimeoutMs))
    .map(
      ({ name, timeoutMs }) =>
        `function ${name} has a timeoutMs of ${timeoutMs}, but its run ends after ${runTimeoutMs} ms. Raise --run-timeout of the control plane, or set detached: true`,
    );

/** What the roles of an agent's services have together beyond what its models take. */
export function excesses(services: readonly Manifest[], catalog: ModelCatalog, agent: ModelUser = {}): string[] {
  const chosen = agentModels(agent, catalog);
  const roles = new Set(services.flatMap((manifest) => [...rolesOf(manifest)]));
  return [undefined, ...roles].flatMap((role) => {
    const functions = services.flatMap((manifest) => shownFunctions(visibleFunctions(manifest, role)));
    return chosen.flatMap((one) => ("missing" in one ? [] : (excessOf(role, functions, one) ?? [])));
  });
}

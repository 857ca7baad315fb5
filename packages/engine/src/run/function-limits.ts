import { type AgentSettings, type Manifest, rolesOf } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { ChosenModel, ModelCatalog, ModelFunction } from "../ports/model-provider.ts";
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

/** What the roles have beyond what an agent's models take. */
export function excesses(manifest: Manifest, catalog: ModelCatalog, settings: AgentSettings = {}): string[] {
  const chosen = [settings, ...(settings.fallback ?? [])].map(({ provider, model }) =>
    catalog.choose(present({ provider, model })),
  );
  return [undefined, ...rolesOf(manifest)].flatMap((role) => {
    const functions = shownFunctions(visibleFunctions(manifest, role));
    return chosen.flatMap((one) => ("missing" in one ? [] : (excessOf(role, functions, one) ?? [])));
  });
}

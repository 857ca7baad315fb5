import type { Figures } from "../figures.ts";
import { calls } from "./calls.ts";
import { clients } from "./clients.ts";
import { invariants } from "./invariants.ts";
import { models } from "./models.ts";
import { organisations } from "./organisations.ts";
import { brokenLimit, limitsOf, type Promised } from "./promise.ts";
import { replicas } from "./replicas.ts";
import { runs } from "./runs.ts";
import { runtimes } from "./runtimes.ts";
import { services } from "./services.ts";

/** The guarantees of docs/reliability.md, by the part of the page. */
export const PROMISES: Readonly<Record<string, readonly Promised[]>> = {
  clients,
  replicas,
  runtimes,
  calls,
  services,
  models,
  runs,
  organisations,
  invariants,
};

/** The promises that the figures of a scenario do not keep, one line each. */
export function brokenPromises(scenario: string, figures: Figures): string[] {
  const promises = Object.values(PROMISES).flat();
  return promises.flatMap((one) =>
    limitsOf(one)
      .filter((limit) => limit.scenario === scenario)
      .flatMap((limit) => brokenLimit(limit, figures) ?? [])
      .map((reason) => `not kept: ${one.promise}: ${reason}`),
  );
}

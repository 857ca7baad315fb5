import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Generator } from "./generator.ts";
import { firstAnswer, loading } from "./round.ts";
import type { Target } from "./system.ts";

const QUERIES = 400;

/**
 * How often both processes of a deployment without an OpenTelemetry provider look for one during 400 queries. Each call of the API
 * looks in a registry on `globalThis`, so that 0 proves that no span was made and the API was not called. CPU time could not show
 * this: the cost of a call is far below what a machine makes it vary by.
 */
export async function tracingLookups(
  target: Target,
  { provider, generator, folder }: { provider: string; generator: Generator; folder: string },
): Promise<number> {
  const counted = join(folder, "lookups");
  const preload = join(folder, "count-lookups.mjs");
  writeFileSync(counted, "");
  writeFileSync(preload, counter(counted));
  const lookups = () => statSync(counted).size;

  await using system = await target.start({ provider, preload: pathToFileURL(preload).href });
  await firstAnswer(system);
  const atStart = lookups();
  // Each process looks once when it starts.
  if (atStart < 2)
    throw new Error(`The counter of OpenTelemetry's registry saw ${atStart} lookups at the start, not 2.`);
  await loading(system, generator).load({ model: "short", form: "json" }, 16, { count: QUERIES });
  return lookups() - atStart;
}

/** A module that appends a byte to `file` for each lookup, whichever copy of the API makes it. */
const counter = (file: string): string => `
import { appendFileSync } from "node:fs";
let registry;
Object.defineProperty(globalThis, Symbol.for("opentelemetry.js.api.1"), {
  configurable: true,
  get() {
    appendFileSync(${JSON.stringify(file)}, ".");
    return registry;
  },
  set: (made) => void (registry = made),
});
`;

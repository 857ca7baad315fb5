import { readFile } from "node:fs/promises";
import type { ModelPrices, Tiers } from "@patchbay/control-plane";
import type { OperatorLimits } from "@patchbay/protocol";
import { CommandFailure, reasonOf } from "./failure.ts";

type Plane = typeof import("@patchbay/control-plane");

/** What `parse` makes of the file that an option names; a fault ends the command with one line that names both. */
async function readFor<T>(option: string, file: string, parse: (plane: Plane, text: string) => T): Promise<T> {
  const plane = await import("@patchbay/control-plane");
  try {
    return parse(plane, await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${option} ${file} cannot be used: ${reasonOf(error)}`);
  }
}

/** Limits that the file does not name keep their defaults. */
export const readLimits = (file: string): Promise<OperatorLimits> =>
  readFor("--limits", file, ({ parseLimits }, text) => parseLimits(text));

export const readTiers = (file: string): Promise<Tiers> =>
  readFor("--tiers", file, ({ parseTiers }, text) => parseTiers(text));

/** Models that the file does not name keep their shipped prices. */
export const readPrices = (file: string): Promise<ModelPrices> =>
  readFor("--prices", file, ({ parsePrices }, text) => parsePrices(text));

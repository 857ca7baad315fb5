import { readFile } from "node:fs/promises";
import type { ModelPrices, Tiers } from "@patchbay/control-plane";
import type { OperatorLimits } from "@patchbay/protocol";
import { CommandFailure, reasonOf } from "./failure.ts";

/** What `parse` makes of the file that an option names; a fault ends the command with one line that names both. */
async function readFor<T>(option: string, file: string, parse: (text: string) => T | Promise<T>): Promise<T> {
  try {
    return await parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${option} ${file} cannot be used: ${reasonOf(error)}`);
  }
}

const plane = () => import("@patchbay/control-plane");

/** Limits that the file does not name keep their defaults. */
export const readLimits = (file: string): Promise<OperatorLimits> =>
  readFor("--limits", file, async (text) => (await plane()).parseLimits(text));

export const readTiers = (file: string): Promise<Tiers> =>
  readFor("--tiers", file, async (text) => (await plane()).parseTiers(text));

/** Models that the file does not name keep their shipped prices. */
export const readPrices = (file: string): Promise<ModelPrices> =>
  readFor("--prices", file, async (text) => (await plane()).parsePrices(text));

export const readJsonFile = (option: string, file: string): Promise<unknown> =>
  readFor<unknown>(option, file, (text) => JSON.parse(text) as unknown);

import { readFile } from "node:fs/promises";
import type { Tiers } from "@patchbay/control-plane";
import { CommandFailure, reasonOf } from "./failure.ts";

/** Reads the tiers of a JSON file. */
export async function readTiers(file: string): Promise<Tiers> {
  const { parseTiers } = await import("@patchbay/control-plane");
  try {
    return parseTiers(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`--tiers ${file} cannot be used: ${reasonOf(error)}`);
  }
}

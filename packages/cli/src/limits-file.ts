import { readFile } from "node:fs/promises";
import type { OperatorLimits } from "@patchbay/protocol";
import { CommandFailure, reasonOf } from "./failure.ts";

/** Reads the limits of a JSON file. Limits that the file does not name keep their defaults. */
export async function readLimits(file: string): Promise<OperatorLimits> {
  const { parseLimits } = await import("@patchbay/control-plane");
  try {
    return parseLimits(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`--limits ${file} cannot be used: ${reasonOf(error)}`);
  }
}

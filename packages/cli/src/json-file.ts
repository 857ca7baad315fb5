import { readFile } from "node:fs/promises";
import { CommandFailure, reasonOf } from "./failure.ts";

/** The JSON of a file that an option names. */
export async function readJsonFile(option: string, file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${option} ${file} cannot be used: ${reasonOf(error)}`);
  }
}
